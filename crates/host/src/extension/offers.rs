//! What one extension has registered, and the rules for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_core::sanitize::for_model;
use haft_core::schema::Validator;
use haft_protocol::RawJson;
use haft_protocol::ext::{InterceptKind, Limits, RegisterCommand, RegisterTool, Subscribe};
use haft_protocol::limits::MAX_NAME;
use haft_protocol::names;

/// Events of names unknown to this host that are kept.
const MAX_EVENTS: usize = 64;

/// Commands, tools and subscriptions of one extension, in the order they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) commands: Vec<RegisterCommand>,
    pub(crate) tools: Vec<Arc<OfferedTool>>,
    pub(crate) events: BTreeSet<String>,
    pub(crate) intercepts: BTreeSet<InterceptKind>,
    /// What `hello` announced.
    pub(crate) capabilities: Vec<String>,
    /// What the rules measure by.
    pub(crate) limits: Limits,
}

/// A tool that passed the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfferedTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: RawJson,
    pub(crate) guidelines: Vec<String>,
}

impl Offers {
    /// Whether there is room for a tool of this name. To be asked first: looking at a tool costs more than it.
    pub(crate) fn has_room_for_tool(&self, name: &str) -> bool {
        self.tools.len() < self.limits.max_tools || self.tools.iter().any(|tool| tool.name == name)
    }

    /// Whether there is room for a command of this name.
    pub(crate) fn has_room_for_command(&self, name: &str) -> bool {
        self.commands.len() < self.limits.max_commands
            || self.commands.iter().any(|command| command.name == name)
    }

    /// Adds a tool, or replaces this extension's own of the same name.
    ///
    /// # Errors
    /// Says which rule it breaks.
    pub(crate) fn add_tool(&mut self, tool: RegisterTool) -> Result<(), String> {
        let tool = Arc::new(checked(tool, &self.limits)?);
        if let Some(old) = self.tools.iter_mut().find(|old| old.name == tool.name) {
            *old = tool;
        } else {
            self.tools.push(tool);
        }
        Ok(())
    }

    /// Adds a command, or replaces this extension's own of the same name.
    ///
    /// # Errors
    /// Says which rule it breaks.
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

    /// Adds subscriptions. Returns the intercepts that this host does not know.
    pub(crate) fn subscribe(&mut self, subscribe: Subscribe) -> Vec<String> {
        for event in subscribe.events {
            if self.events.len() < MAX_EVENTS && event.len() <= MAX_NAME {
                self.events.insert(event);
            }
        }
        let mut unknown = Vec::new();
        for name in subscribe.intercept {
            match InterceptKind::from_name(&name) {
                Some(kind) => _ = self.intercepts.insert(kind),
                None => unknown.push(excerpt(&name)),
            }
        }
        unknown
    }

    /// Whether `hello` announced this.
    pub(crate) fn announced(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }
}

fn checked(tool: RegisterTool, limits: &Limits) -> Result<OfferedTool, String> {
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
    let texts = tool.guidelines.iter().chain([&tool.description]);
    let hidden: usize = texts.map(|text| for_model(text).hidden).sum();
    if hidden > 0 {
        return wrong(format!("its description has {hidden} characters in it that nobody can see"));
    }
    let schema = tool.schema.unwrap_or_else(no_arguments);
    if schema.as_str().len() > limits.max_tool_schema {
        return wrong(format!("its schema is longer than {} bytes", limits.max_tool_schema));
    }
    if for_model(&unescaped(&schema)).hidden > 0 {
        return wrong("its schema has characters in it that nobody can see".to_owned());
    }
    if let Err(detail) = object_schema(&schema) {
        return wrong(detail);
    }
    Ok(OfferedTool { name, description: tool.description, schema, guidelines: tool.guidelines })
}

/// A schema in which a character stands for itself, however it was written.
fn unescaped(schema: &RawJson) -> String {
    schema.read::<serde_json::Value>().map(|schema| schema.to_string()).unwrap_or_default()
}

fn no_arguments() -> RawJson {
    RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap_or_else(|_| RawJson::empty_object())
}

/// Arguments are always an object, so a schema that wants anything else can never be fulfilled.
fn object_schema(schema: &RawJson) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Head {
        #[serde(rename = "type", default)]
        kind: Option<serde_json::Value>,
    }
    if !schema.is_object() {
        return Err("its schema is not a JSON object".to_owned());
    }
    let head: Head = schema.read().map_err(|error| format!("its schema cannot be read: {error}"))?;
    match head.kind {
        None => {}
        Some(serde_json::Value::String(kind)) if kind == "object" => {}
        Some(other) => return Err(format!("its schema is for {other}, and arguments are an \"object\"")),
    }
    Validator::compile(schema).map(drop).map_err(|error| format!("its schema cannot be used: {error}"))
}

/// The beginning of a name that may be anything, for messages.
fn excerpt(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: &str) -> RegisterTool {
        RegisterTool {
            name: name.into(),
            description: String::new(),
            schema: (!schema.is_empty()).then(|| RawJson::parse(schema).unwrap()),
            guidelines: Vec::new(),
        }
    }

    #[track_caller]
    fn check(tool: RegisterTool, expect: &str) {
        let outcome = Offers::default().add_tool(tool).map_or_else(|error| error, |()| "ok".into());
        assert!(outcome.contains(expect), "{outcome}");
    }

    #[test]
    fn tools_keep_to_the_rules() {
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
        check(
            RegisterTool { description: hidden.clone(), ..tool("weather", "") },
            "2 characters in it that nobody",
        );
        check(
            RegisterTool { guidelines: vec![hidden], ..tool("weather", "") },
            "2 characters in it that nobody",
        );
        check(tool("weather", r#"{"title":"\udb40\udc41"}"#), "its schema has characters in it that nobody");
        check(tool("weather", r##"{"$ref":"#"}"##), "steps");
        check(tool("weather", r#"{"pattern":"(a{1,1000}){1,1000}"}"#), "cannot be used");
        check(tool("weather", r#""string""#), "not a JSON object");
        check(tool("weather", r#"{"type":"array"}"#), "arguments are an");
        check(tool("weather", r#"{"properties":{"city":{"type":7}}}"#), "cannot be used");
        check(tool("weather", r#"{"$ref":"file:///etc/passwd"}"#), "cannot be used");
        check(RegisterTool { description: "x".repeat(4096), ..tool("weather", "") }, "ok");
        check(RegisterTool { description: "x".repeat(4097), ..tool("weather", "") }, "description is longer");
        let fits = format!(r#"{{"title":"{}"}}"#, "x".repeat(64 * 1024 - 12));
        check(tool("weather", &fits), "ok");
        check(tool("weather", &fits.replace("title", "title2")), "schema is longer");
    }

    #[test]
    fn there_is_room_for_as_many_as_the_limits_say_and_an_own_name_is_replaced() {
        let limits = Limits { max_tools: 2, max_commands: 1, ..Limits::default() };
        let mut offers = Offers { limits, ..Offers::default() };
        offers.add_tool(tool("t0", "")).unwrap();
        assert!(offers.has_room_for_tool("t1"));
        offers.add_tool(tool("t1", "")).unwrap();
        assert!(!offers.has_room_for_tool("t2") && offers.has_room_for_tool("t0"));
        offers.add_tool(tool("t0", r#"{"title":"new"}"#)).unwrap();
        assert_eq!(offers.tools.len(), 2);
        assert_eq!(offers.tools[0].schema.as_str(), r#"{"title":"new"}"#);
        let command = || RegisterCommand { name: "c".into(), description: String::new() };
        assert!(offers.has_room_for_command("c"));
        offers.add_command(command()).unwrap();
        assert!(!offers.has_room_for_command("d") && offers.has_room_for_command("c"));
    }

    #[test]
    fn subscriptions_add_up_and_unknown_intercepts_are_named() {
        let mut offers = Offers::default();
        let subscribe = |events: &[&str], intercept: &[&str]| Subscribe {
            events: events.iter().map(|&name| name.into()).collect(),
            intercept: intercept.iter().map(|&name| name.into()).collect(),
        };
        assert_eq!(offers.subscribe(subscribe(&["turn_end"], &["tool_call"])), Vec::<String>::new());
        assert_eq!(offers.subscribe(subscribe(&["later_event"], &["turn_start", "warp"])), ["warp"]);
        assert_eq!(offers.events.len(), 2);
        assert_eq!(offers.intercepts.len(), 2);
    }
}
