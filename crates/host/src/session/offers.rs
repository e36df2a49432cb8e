//! Registrations of one extension, and the rules for them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use haft_core::sanitize::strip_hidden_chars;
use haft_core::schema::SchemaValidator;
use haft_protocol::RawJson;
use haft_protocol::ext::{
    InterceptKind, InterceptRole, Limits, RegisterCommand, RegisterFrame, RegisterTool, RegistrationKind,
    Subscribe, Subscription, UnregisterFrame, capability,
};
use haft_protocol::ids::ExtensionName;
use haft_protocol::limits::MAX_NAME;
use haft_protocol::names;
use serde_json::Value;

use super::filter::{ToolCallRoles, ToolFilter};
use super::mirror_parts::MirrorParts;

/// The maximum number of stored events with names that this host does not know.
const MAX_EVENTS: usize = 64;

/// The maximum number of shortcuts of one extension.
const MAX_SHORTCUTS: usize = 64;

/// The commands, tools, shortcuts and subscriptions of one extension, in registration order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExtensionOffers {
    pub(crate) commands: Vec<RegisterCommand>,
    pub(crate) tools: Vec<Arc<OfferedTool>>,
    pub(crate) shortcuts: Vec<RegisterFrame>,
    /// The numbers of removed tools and commands. Their names stay with the extension, so they count for the limits.
    pub(crate) removed_tools: usize,
    pub(crate) removed_commands: usize,
    pub(crate) events: BTreeSet<String>,
    /// The tools of the event `tool_call`.
    pub(crate) watched_tools: ToolFilter,
    pub(crate) intercepts: BTreeSet<InterceptKind>,
    /// The tools and roles of the intercept `tool_call`.
    pub(crate) tool_calls: ToolCallRoles,
    pub(crate) gates: BTreeSet<InterceptKind>,
    /// The capabilities of its `hello`.
    pub(crate) capabilities: Vec<String>,
    /// The mirrored parts of its `hello`.
    pub(crate) mirror: MirrorParts,
    pub(crate) limits: Arc<Limits>,
}

/// The part of an event that subscriptions select by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTopic<'a> {
    pub(crate) form: EventFormat,
    pub(crate) name: &'a str,
    pub(crate) tool: Option<&'a str>,
    /// The extension whose note or fault this is. It does not receive the event, because it might answer with
    /// another one.
    pub(crate) about: Option<&'a ExtensionName>,
}

/// The form of an event frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventFormat {
    /// The form of zot's protocol.
    Lifecycle,
    /// The form of `--json`, for extensions with the capability `events_2`.
    Session,
}

impl<'a> EventTopic<'a> {
    pub(crate) fn for_lifecycle(name: &'a str, tool: Option<&'a str>) -> Self {
        Self { form: EventFormat::Lifecycle, name, tool, about: None }
    }

    pub(crate) fn for_session(name: &'a str, tool: Option<&'a str>) -> Self {
        Self { form: EventFormat::Session, ..Self::for_lifecycle(name, tool) }
    }
}

/// A tool that passed the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfferedTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: RawJson,
    pub(crate) guidelines: Vec<String>,
    pub(crate) label: String,
    pub(crate) snippet: String,
    pub(crate) exclusive: bool,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) replaces: bool,
}

impl OfferedTool {
    /// True if both are the same tool. The order of keys in a schema does not count.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let other_schema = Self { schema: self.schema.clone(), ..other.clone() };
        *self == other_schema && self.schema.same_value(&other.schema)
    }
}

impl ExtensionOffers {
    /// True if there is room for a tool of this name. Check this first: the other checks of a tool are
    /// expensive.
    pub(crate) fn has_room_for_tool(&self, name: &str) -> bool {
        self.tools.len() + self.removed_tools < self.limits.max_tools
            || self.tools.iter().any(|tool| tool.name == name)
    }

    pub(crate) fn has_room_for_command(&self, name: &str) -> bool {
        self.commands.len() + self.removed_commands < self.limits.max_commands
            || self.commands.iter().any(|command| command.name == name)
    }

    /// Adds a tool, or replaces this extension's own tool of the same name. The error names the violated
    /// rule.
    pub(crate) fn add_tool(&mut self, tool: RegisterTool) -> Result<(), String> {
        let tool = Arc::new(check_tool(tool, &self.limits)?);
        if let Some(old) = self.tools.iter_mut().find(|old| old.name == tool.name) {
            *old = tool;
        } else {
            self.tools.push(tool);
        }
        Ok(())
    }

    /// Adds a command, or replaces this extension's own command of the same name. The error names the
    /// violated rule.
    pub(crate) fn add_command(&mut self, command: RegisterCommand) -> Result<(), String> {
        let longest = self.limits.max_name;
        if !names::is_command(&command.name, longest) {
            return Err(format!(
                "command {:?}: a name is 1 to {longest} letters, digits, '_' or '-'",
                excerpt(&command.name)
            ));
        }
        if let Some(old) = self.commands.iter_mut().find(|old| old.name == command.name) {
            *old = command;
        } else {
            self.commands.push(command);
        }
        Ok(())
    }

    /// True if the commands, tools and shortcuts are those of the other offers.
    pub(crate) fn has_same_registrations(&self, other: &Self) -> bool {
        self.commands == other.commands && self.tools == other.tools && self.shortcuts == other.shortcuts
    }

    /// Adds a shortcut, or replaces this extension's own shortcut of the same name. The error names the violated
    /// rule. Clients know which keys they have, so any text can be a key.
    pub(crate) fn add_shortcut(&mut self, shortcut: RegisterFrame) -> Result<(), String> {
        let (key, longest) = (&shortcut.name, self.limits.max_name);
        let is_plain = key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'`');
        if !(1..=longest).contains(&key.len()) || !is_plain {
            return Err(format!(
                "shortcut {:?}: a key is 1 to {longest} printable ASCII characters",
                excerpt(key)
            ));
        }
        let about = &shortcut.description;
        if about.len() > self.limits.max_tool_description || about.contains(char::is_control) {
            let longest = self.limits.max_tool_description;
            return Err(format!(
                "shortcut {:?}: a description is one line of at most {longest} bytes",
                excerpt(key)
            ));
        }
        if let Some(old) = self.shortcuts.iter_mut().find(|old| old.name == shortcut.name) {
            *old = shortcut;
        } else if self.shortcuts.len() < MAX_SHORTCUTS {
            self.shortcuts.push(shortcut);
        } else {
            let key = excerpt(key);
            return Err(format!(
                "shortcut {key:?}: the extension already has {MAX_SHORTCUTS} shortcuts, which is the limit"
            ));
        }
        Ok(())
    }

    /// Removes a registration of this extension. The error says what does not exist.
    pub(crate) fn remove_registration(
        &mut self,
        UnregisterFrame { kind, name }: &UnregisterFrame,
    ) -> Result<(), String> {
        let Some(known) = RegistrationKind::from_name(kind) else {
            return Err(format!("cannot unregister a {:?}; use shortcut, tool or command", excerpt(kind)));
        };
        let before = (self.shortcuts.len(), self.tools.len(), self.commands.len());
        match known {
            RegistrationKind::Shortcut => self.shortcuts.retain(|shortcut| shortcut.name != *name),
            RegistrationKind::Tool => self.tools.retain(|tool| tool.name != *name),
            RegistrationKind::Command => self.commands.retain(|command| command.name != *name),
        }
        if before == (self.shortcuts.len(), self.tools.len(), self.commands.len()) {
            return Err(format!("cannot unregister the {known} {:?}: it is not registered", excerpt(name)));
        }
        self.removed_tools += before.1 - self.tools.len();
        self.removed_commands += before.2 - self.commands.len();
        Ok(())
    }

    /// Adds subscriptions, or replaces the earlier ones. Returns messages about invalid entries, which count
    /// in their strictest interpretation.
    pub(crate) fn subscribe(&mut self, subscribe: Subscribe) -> Vec<String> {
        let mut wrong = Vec::new();
        if subscribe.replace && self.has_capability(capability::EVENTS_2) {
            self.remove_subscriptions();
        }
        for entry in subscribe.events {
            if entry.role.as_deref().is_some_and(|role| role != InterceptRole::Observe.name()) {
                let event = excerpt(&entry.event);
                wrong.push(format!(
                    "event {event:?}: an observer has no role; list the event under `intercept`"
                ));
            }
            self.add_watched_event(entry, &mut wrong);
        }
        for entry in subscribe.intercept {
            self.add_intercept(entry, &mut wrong);
        }
        wrong
    }

    fn remove_subscriptions(&mut self) {
        self.events.clear();
        self.watched_tools = ToolFilter::default();
        self.intercepts.clear();
        self.tool_calls = ToolCallRoles::default();
        self.gates.clear();
    }

    fn add_watched_event(&mut self, entry: Subscription, wrong: &mut Vec<String>) {
        let tools = tools_of(&entry, wrong);
        if self.events.len() < MAX_EVENTS && entry.event.len() <= MAX_NAME {
            if entry.event == InterceptKind::ToolCall.name() {
                self.watched_tools.add(tools);
            }
            self.events.insert(entry.event);
        }
    }

    fn add_intercept(&mut self, entry: Subscription, wrong: &mut Vec<String>) {
        let known = InterceptKind::from_name(&entry.event)
            .filter(|kind| !kind.is_wait() || self.has_capability(capability::EVENTS_2));
        let Some(kind) = known else {
            let name = excerpt(&entry.event);
            return wrong.push(format!("cannot intercept {name:?}: this version has no such hook, and the subscription has no effect; the hooks are {}", hook_names()));
        };
        let role = entry.role.as_deref().and_then(InterceptRole::from_name);
        if let (None, Some(unknown)) = (role, &entry.role) {
            let (hook, unknown) = (kind.name(), excerpt(unknown));
            wrong.push(format!(
                "intercept {hook}: unknown role {unknown:?}; the subscription counts as one without a role"
            ));
        }
        if role == Some(InterceptRole::Observe) {
            return self.add_watched_event(entry, wrong);
        }
        if kind.is_wait() != (role == Some(InterceptRole::Wait)) {
            let (hook, counts) = match kind.is_wait() {
                true => {
                    (kind.name(), "has only the role `wait`; the subscription counts as one with this role")
                }
                false => (kind.name(), "has no role `wait`; the subscription counts as one without a role"),
            };
            wrong.push(format!("intercept {hook}: this hook {counts}"));
        }
        let tools = tools_of(&entry, wrong);
        self.intercepts.insert(kind);
        match (kind, role) {
            (InterceptKind::ToolCall, role) => self.tool_calls.add(role, tools),
            (kind, Some(InterceptRole::Gate)) => _ = self.gates.insert(kind),
            (_, None | Some(InterceptRole::Rewrite | InterceptRole::Observe | InterceptRole::Wait)) => {}
        }
    }

    pub(crate) fn only_watch(&self) -> bool {
        let offers_some = !self.tools.is_empty() || !self.commands.is_empty() || !self.shortcuts.is_empty();
        let asked = offers_some || !self.intercepts.is_empty();
        !self.events.is_empty() && !asked
    }

    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }
}

/// Returns the tools of an entry. Only tool calls have tools; for other hooks they restrict nothing.
fn tools_of<'a>(entry: &'a Subscription, wrong: &mut Vec<String>) -> &'a [String] {
    if entry.event == InterceptKind::ToolCall.name() || entry.tools.is_empty() {
        return &entry.tools;
    }
    wrong.push(format!("{:?}: only `tool_call` can name tools; these are ignored", excerpt(&entry.event)));
    &[]
}

/// Checks a tool for the model.
///
/// # Errors
/// The violated rule.
pub(crate) fn check_tool(tool: RegisterTool, limits: &Limits) -> Result<OfferedTool, String> {
    let name = tool.name;
    let wrong = |what: String| Err(format!("tool {:?}: {what}", excerpt(&name)));
    if !names::is_tool(&name, limits.max_name) {
        return wrong(format!(
            "a name is a letter and then letters, digits, '_' or '-', at most {} in all",
            limits.max_name
        ));
    }
    if tool.description.len() > limits.max_tool_description {
        return wrong(format!("its description is longer than {} bytes", limits.max_tool_description));
    }
    if tool.guidelines.iter().map(String::len).sum::<usize>() > limits.max_tool_description {
        return wrong(format!("its guidelines are longer than {} bytes", limits.max_tool_description));
    }
    if tool.snippet.len() > limits.max_tool_description {
        return wrong(format!("its snippet is longer than {} bytes", limits.max_tool_description));
    }
    if tool.label.chars().count() > limits.max_name || tool.label.contains(char::is_control) {
        return wrong(format!("its label must be one line of at most {} characters", limits.max_name));
    }
    let texts = tool.guidelines.iter().chain([&tool.description, &tool.snippet, &tool.label]);
    let hidden: usize = texts.map(|text| strip_hidden_chars(text).hidden).sum();
    if hidden > 0 {
        return wrong(format!("its texts have {hidden} invisible characters"));
    }
    let schema = tool.schema.unwrap_or_else(no_arguments);
    if schema.as_str().len() > limits.max_tool_schema {
        return wrong(format!("its schema is longer than {} bytes", limits.max_tool_schema));
    }
    if strip_hidden_chars(&unescape_schema(&schema)).hidden > 0 {
        return wrong("its schema has invisible characters".to_owned());
    }
    if let Err(detail) = object_schema(&schema) {
        return wrong(detail);
    }
    let RegisterTool { description, guidelines, label, snippet, exclusive, timeout_ms, replaces, .. } = tool;
    Ok(OfferedTool { name, description, schema, guidelines, label, snippet, exclusive, timeout_ms, replaces })
}

/// Returns the text of a schema with all escape sequences decoded.
fn unescape_schema(schema: &RawJson) -> Cow<'_, str> {
    match schema.as_str().contains('\\') {
        true => schema.read::<Value>().map(|schema| schema.to_string()).unwrap_or_default().into(),
        false => schema.as_str().into(),
    }
}

fn no_arguments() -> RawJson {
    RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap_or_else(|_| RawJson::empty_object())
}

/// Checks that a schema accepts objects, because arguments are always objects.
fn object_schema(schema: &RawJson) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct SchemaHead {
        #[serde(rename = "type", default)]
        kind: Option<Value>,
    }
    if !schema.is_object() {
        return Err("its schema is not a JSON object".to_owned());
    }
    let head: SchemaHead = schema.read().map_err(|error| format!("its schema cannot be read: {error}"))?;
    match head.kind {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => {
            return Err(format!("its schema describes {other}, but tool arguments are an \"object\""));
        }
    }
    SchemaValidator::compile(schema).map(drop).map_err(|error| format!("its schema cannot be used: {error}"))
}

/// Returns the message about a kind that `register` does not have.
pub(super) fn unknown_kind(kind: &str) -> String {
    format!(
        "cannot register a {:?}; the only kind is shortcut, and tools and commands have register_tool and \
         register_command",
        excerpt(kind)
    )
}

fn hook_names() -> String {
    let hooks = InterceptKind::ALL.iter().filter(|hook| !hook.is_wait());
    hooks.map(|hook| hook.name()).collect::<Vec<_>>().join(", ")
}

/// Returns the beginning of a name with unknown content, for messages.
pub(crate) fn excerpt(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::super::filter::InterceptorRole;
    use super::*;

    fn tool(name: &str, schema: &str) -> RegisterTool {
        RegisterTool {
            name: name.into(),
            schema: (!schema.is_empty()).then(|| RawJson::parse(schema).unwrap()),
            ..RegisterTool::default()
        }
    }

    #[track_caller]
    fn check(tool: RegisterTool, expect: &str) {
        let outcome = ExtensionOffers::default().add_tool(tool).map_or_else(|error| error, |()| "ok".into());
        assert!(outcome.contains(expect), "{outcome}");
    }

    #[test]
    fn checks_rules_for_tools() {
        check(tool("weather", r#"{"type":"object"}"#), "ok");
        check(tool("weather", ""), "ok");
        check(tool("weather", "{}"), "ok");
        check(tool("", ""), "a name is");
        check(tool("bad name!", ""), "a name is");
        check(tool("1st", ""), "a name is");
        check(tool("b\u{e4}sh", ""), "a name is");
        check(tool(&"x".repeat(64), ""), "ok");
        check(tool(&"x".repeat(65), ""), "a name is");
        check(tool("host.exec", ""), "a name is");
        check(tool("b\u{430}sh", ""), "a name is");
        check(tool("../../x", ""), "a name is");
        check(tool("\x1b[31mred", ""), r#"tool "\u{1b}[31mred": a name is"#);
        let hidden = "fog\u{e0041}\u{e0042}".to_owned();
        check(RegisterTool { description: hidden.clone(), ..tool("weather", "") }, "2 invisible characters");
        check(RegisterTool { guidelines: vec![hidden], ..tool("weather", "") }, "2 invisible characters");
        check(
            RegisterTool { snippet: "fog\u{e0041}".into(), ..tool("weather", "") },
            "1 invisible character",
        );
        check(RegisterTool { label: "fog\u{e0041}".into(), ..tool("weather", "") }, "1 invisible character");
        check(RegisterTool { label: "\u{e4}".repeat(64), ..tool("weather", "") }, "ok");
        check(RegisterTool { label: "x".repeat(65), ..tool("weather", "") }, "its label must be");
        check(RegisterTool { label: "a\nb".into(), ..tool("weather", "") }, "its label must be");
        check(RegisterTool { snippet: "x".repeat(4097), ..tool("weather", "") }, "snippet is longer");
        check(tool("weather", r#"{"title":"\udb40\udc41"}"#), "its schema has invisible characters");
        check(tool("weather", r##"{"$ref":"#"}"##), "steps");
        check(tool("weather", r#"{"pattern":"(a{1,1000}){1,1000}"}"#), "cannot be used");
        check(tool("weather", r#""string""#), "not a JSON object");
        check(tool("weather", r#"{"type":"array"}"#), "tool arguments are an");
        check(tool("weather", r#"{"properties":{"city":{"type":7}}}"#), "cannot be used");
        check(tool("weather", r#"{"$ref":"file:///etc/passwd"}"#), "cannot be used");
        check(RegisterTool { description: "x".repeat(4096), ..tool("weather", "") }, "ok");
        check(RegisterTool { description: "x".repeat(4097), ..tool("weather", "") }, "description is longer");
        let fits = format!(r#"{{"title":"{}"}}"#, "x".repeat(64 * 1024 - 12));
        check(tool("weather", &fits), "ok");
        check(tool("weather", &fits.replace("title", "title2")), "schema is longer");
    }

    #[test]
    fn limits_registrations_and_replaces_own_name() {
        let limits = Limits { max_tools: 2, max_commands: 1, ..Limits::default() };
        let mut offers = ExtensionOffers { limits: Arc::new(limits), ..ExtensionOffers::default() };
        offers.add_tool(tool("t0", "")).unwrap();
        assert!(offers.has_room_for_tool("t1"));
        offers.add_tool(tool("t1", "")).unwrap();
        assert!(!offers.has_room_for_tool("t2") && offers.has_room_for_tool("t0"));
        offers.add_tool(tool("t0", r#"{"title":"new"}"#)).unwrap();
        assert_eq!(offers.tools.len(), 2);
        assert_eq!(offers.tools[0].schema.as_str(), r#"{"title":"new"}"#);
        let command = || RegisterCommand { name: "c".into(), description: String::new(), completes: false };
        assert!(offers.has_room_for_command("c"));
        offers.add_command(command()).unwrap();
        assert!(!offers.has_room_for_command("d") && offers.has_room_for_command("c"));
    }

    fn subscribe(events: &[&str], intercept: &str) -> (ExtensionOffers, Vec<String>) {
        let mut offers = ExtensionOffers::default();
        let events = events.iter().map(|&name| name.into()).collect();
        let intercept = serde_json::from_str(intercept).unwrap();
        let wrong = offers.subscribe(Subscribe { replace: false, events, intercept });
        (offers, wrong)
    }

    #[test]
    fn combines_subscriptions_and_reports_unknown_intercepts() {
        let (mut offers, wrong) = subscribe(&["turn_end"], r#"["tool_call"]"#);
        assert_eq!(wrong, Vec::<String>::new());
        let more = Subscribe {
            replace: false,
            events: vec!["later_event".into()],
            intercept: vec!["turn_start".into(), "warp".into()],
        };
        assert_eq!(
            offers.subscribe(more),
            [
                r#"cannot intercept "warp": this version has no such hook, and the subscription has no effect; the hooks are tool_call, turn_start, assistant_message, before_agent_start, before_compact, tool_result, input, before_settle, context, message_end, before_provider_request, user_bash, before_switch, before_fork, before_tree, resources, approve, project_trust"#
            ]
        );
        assert_eq!((offers.events.len(), offers.intercepts.len()), (2, 2));
        assert_eq!(offers.tool_calls.role_for("bash"), Some(InterceptorRole::Plain));
    }

    #[test]
    fn role_and_tools_narrow_subscription() {
        let (offers, wrong) = subscribe(
            &[],
            r#"[{"event":"tool_call","tools":["bash"],"role":"gate"},
                {"event":"tool_call","tools":["edit"],"role":"rewrite"},
                {"event":"tool_call","tools":["read"],"role":"observe"},
                {"event":"turn_start","role":"gate"}]"#,
        );
        assert_eq!(wrong, Vec::<String>::new());
        let roles = ["bash", "edit", "read"].map(|tool| offers.tool_calls.role_for(tool));
        assert_eq!(roles, [Some(InterceptorRole::Gate), Some(InterceptorRole::Rewrite), None]);
        assert!(offers.events.contains("tool_call"));
        assert_eq!(["bash", "read"].map(|tool| offers.watched_tools.contains(tool)), [false, true]);
        assert_eq!(offers.gates, BTreeSet::from([InterceptKind::TurnStart]));
    }

    #[test]
    fn invalid_entries_count_in_strictest_interpretation() {
        let (offers, wrong) = subscribe(&[], r#"[{"event":"tool_call","tools":["bash"],"role":"oracle"}]"#);
        assert_eq!(
            wrong,
            [r#"intercept tool_call: unknown role "oracle"; the subscription counts as one without a role"#]
        );
        assert_eq!(offers.tool_calls.role_for("bash"), Some(InterceptorRole::Plain));
        let (offers, wrong) = subscribe(&[], r#"[{"event":"turn_start","tools":["bash"]}]"#);
        assert_eq!(wrong, [r#""turn_start": only `tool_call` can name tools; these are ignored"#]);
        assert!(offers.intercepts.contains(&InterceptKind::TurnStart));
    }

    #[test]
    fn replacing_subscription_removes_the_earlier_ones_with_events_2() {
        let replace = || Subscribe { replace: true, events: vec!["tool_end".into()], intercept: Vec::new() };
        for (capabilities, left) in [(Vec::new(), (2, 1)), (vec![capability::EVENTS_2.to_owned()], (1, 0))] {
            let (mut offers, _) = subscribe(&["turn_end"], r#"[{"event":"tool_call","role":"gate"}]"#);
            offers.capabilities = capabilities;
            assert_eq!(offers.subscribe(replace()), Vec::<String>::new());
            assert_eq!((offers.events.len(), offers.intercepts.len()), left);
            assert_eq!(offers.tool_calls.role_for("bash").is_some(), left.1 == 1);
        }
    }

    #[test]
    fn wait_is_the_only_role_of_its_events() {
        let wait = |capability: Option<&str>, intercept: &str| {
            let capabilities = capability.map(str::to_owned).into_iter().collect();
            let mut offers = ExtensionOffers { capabilities, ..ExtensionOffers::default() };
            let intercept = serde_json::from_str(intercept).unwrap();
            let wrong = offers.subscribe(Subscribe { intercept, ..Subscribe::default() });
            (offers, wrong)
        };
        let agent_end = r#"[{"event":"agent_end","role":"wait"}]"#;
        let (offers, wrong) = wait(Some(capability::EVENTS_2), agent_end);
        assert_eq!((offers.intercepts, wrong), (BTreeSet::from([InterceptKind::AgentEnd]), Vec::new()));
        let (offers, wrong) = wait(None, agent_end);
        assert!(offers.intercepts.is_empty());
        assert!(wrong[0].starts_with(r#"cannot intercept "agent_end""#), "{wrong:?}");
        let (offers, wrong) = wait(Some(capability::EVENTS_2), r#"["turn_end"]"#);
        assert!(offers.intercepts.contains(&InterceptKind::TurnEnd));
        assert!(wrong[0].contains("has only the role `wait`"), "{wrong:?}");
        let (offers, wrong) = wait(Some(capability::EVENTS_2), r#"[{"event":"tool_call","role":"wait"}]"#);
        assert_eq!(offers.tool_calls.role_for("bash"), Some(InterceptorRole::Plain));
        assert!(wrong[0].contains("has no role `wait`"), "{wrong:?}");
    }
}
