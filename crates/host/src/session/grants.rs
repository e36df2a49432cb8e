//! Compares the registrations of an extension with its grants. Registrations without a grant are rejected
//! with a reason; the others count.

use std::collections::BTreeSet;

use haft_packages::{InterceptPermissionRole, Permissions};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{
    BusMessage, HostService, InterceptKind, InterceptRole, RegisterRejected, Subscribe, Subscription,
};
use haft_protocol::names::selected_tools;

use super::offers::excerpt;

/// Returns the reason to reject a tool of this name under these permissions, if any.
pub(super) fn reject_tool(permissions: &Permissions, name: &str) -> Option<RegisterRejected> {
    if permissions.tools.may_register(name) || !is_up(Defense::Permissions) {
        return None;
    }
    let name = excerpt(name);
    let reason = format!("tool {name:?} is not granted: its permissions name no such tool");
    Some(register_rejection("tool", name, "tools.register", reason))
}

/// Returns the reason to reject a mirror under these permissions, if any.
pub(super) fn reject_mirror(permissions: &Permissions) -> Option<RegisterRejected> {
    let service = HostService::SessionRead;
    if permissions.host.contains(&service) || !is_up(Defense::Permissions) {
        return None;
    }
    let reason = format!("a mirror of the session is not granted: the permission {service} is missing");
    Some(register_rejection("mirror", "session".to_owned(), service.name(), reason))
}

/// Returns the reason to reject a shortcut under these permissions, if any.
pub(super) fn reject_shortcut(permissions: &Permissions, key: &str) -> Option<RegisterRejected> {
    let service = HostService::Ui;
    if permissions.host.contains(&service) || !is_up(Defense::Permissions) {
        return None;
    }
    let key = excerpt(key);
    let reason = format!("shortcut {key:?} is not granted: the permission {service} is missing");
    Some(register_rejection("shortcut", key, service.name(), reason))
}

/// Splits a subscription into the granted part and the rejected entries.
pub(super) fn split_granted(
    permissions: &Permissions,
    asked: Subscribe,
) -> (Subscribe, Vec<RegisterRejected>) {
    let (mut granted, mut rest) = (Subscribe { replace: asked.replace, ..Subscribe::default() }, Vec::new());
    if !is_up(Defense::Permissions) {
        return (asked, rest);
    }
    for entry in asked.events {
        match reject_event(permissions, &entry) {
            None => granted.events.push(entry),
            Some(rejected) => rest.push(rejected),
        }
    }
    for entry in asked.intercept {
        split_intercept(permissions, entry, &mut granted.intercept, &mut rest);
    }
    (granted, rest)
}

fn reject_event(permissions: &Permissions, entry: &Subscription) -> Option<RegisterRejected> {
    if permissions.events.contains(&entry.event) {
        return None;
    }
    let name = excerpt(&entry.event);
    if entry.event == BusMessage::EVENT {
        let reason = format!(
            "event {name:?} is not granted: its permissions have no {:?} in `host`",
            HostService::Bus.name()
        );
        let missing = !permissions.host.contains(&HostService::Bus);
        return missing.then(|| register_rejection("event", name, "host", reason));
    }
    let reason = format!("event {name:?} is not granted: its permissions do not name it");
    Some(register_rejection("event", name, "events", reason))
}

fn split_intercept(
    permissions: &Permissions,
    entry: Subscription,
    granted: &mut Vec<Subscription>,
    rest: &mut Vec<RegisterRejected>,
) {
    // An unknown hook is reported as unknown later.
    let Some(hook) = InterceptKind::from_name(&entry.event) else { return granted.push(entry) };
    let role = entry.role.as_deref().and_then(InterceptRole::from_name);
    // Without a role, the granted role applies; other kinds of answers are refused later.
    let as_any: &[_] = match role {
        Some(InterceptRole::Observe) => {
            return match reject_event(permissions, &entry) {
                None => granted.push(entry),
                Some(rejected) => rest.push(rejected),
            };
        }
        Some(InterceptRole::Wait) => &[InterceptPermissionRole::Wait],
        None if hook.is_wait() => &[InterceptPermissionRole::Wait],
        Some(InterceptRole::Gate) => &[InterceptPermissionRole::Gate],
        Some(InterceptRole::Rewrite) => {
            &[InterceptPermissionRole::Rewrite, InterceptPermissionRole::Redactor]
        }
        None => &[
            InterceptPermissionRole::Rewrite,
            InterceptPermissionRole::Redactor,
            InterceptPermissionRole::Gate,
        ],
    };
    let mut left = RemainingTools::from_subscription(hook, &entry);
    // A plain name, as in zot, cannot list its tools: it means the granted tools.
    let is_plain = entry.role.is_none() && left == RemainingTools::All;
    let mut parts = Vec::new();
    for role in as_any {
        let Some(grant) = permissions.intercept_as(hook, *role) else { continue };
        if let Some(tools) = left.take(&grant.tools) {
            // The tools of other hooks are ignored later with a message.
            let tools = if hook == InterceptKind::ToolCall { tools } else { entry.tools.clone() };
            parts.push(Subscription { tools, ..entry.clone() });
        }
    }
    if left != RemainingTools::Nothing && (parts.is_empty() || !is_plain) {
        rest.push(match InterceptPermissionRole::all_of(hook).any(|role| as_any.contains(&role)) {
            true => reject_intercept(hook, role, &parts),
            false => reject_role(hook, role),
        });
    }
    granted.extend(parts);
}

fn reject_intercept(
    hook: InterceptKind,
    role: Option<InterceptRole>,
    parts: &[Subscription],
) -> RegisterRejected {
    let name = hook.name();
    let role = role.map_or_else(String::new, |role| format!(" as {}", role.name()));
    let tools: BTreeSet<&str> = parts.iter().flat_map(|part| &part.tools).map(String::as_str).collect();
    let reason = match tools.is_empty() {
        true => format!("intercept {name}{role} is not granted: its permissions do not name it"),
        false => {
            let tools = tools.into_iter().collect::<Vec<_>>().join(", ");
            format!("intercept {name}{role} is granted for these tools only: {tools}")
        }
    };
    register_rejection("intercept", name.to_owned(), "intercept", reason)
}

/// Rejects an intercept in a role that its hook does not have, so that no permission can name it.
fn reject_role(hook: InterceptKind, role: Option<InterceptRole>) -> RegisterRejected {
    let (name, role) = (hook.name(), role.map_or("", InterceptRole::name));
    let all: Vec<_> = InterceptPermissionRole::all_of(hook).map(|role| format!("`{role}`")).collect();
    let (roles, all) = (if all.len() == 1 { "role" } else { "roles" }, all.join(", "));
    let reason = format!("intercept {name} as {role} is not granted: this hook has only the {roles} {all}");
    register_rejection("intercept", name.to_owned(), "intercept", reason)
}

/// The tools of an intercept that have yet to be granted, in lower case.
#[derive(Debug, PartialEq, Eq)]
enum RemainingTools {
    All,
    Only(BTreeSet<String>),
    Nothing,
}

impl RemainingTools {
    fn from_subscription(hook: InterceptKind, entry: &Subscription) -> Self {
        // Only tool calls have tools; for other hooks they restrict nothing.
        match hook == InterceptKind::ToolCall && !entry.tools.is_empty() {
            true => Self::Only(entry.tools.iter().map(|name| name.to_ascii_lowercase()).collect()),
            false => Self::All,
        }
    }

    /// Takes the tools of a grant, or all if the grant names none. Returns them as a subscription lists them.
    fn take(&mut self, grant: &BTreeSet<String>) -> Option<Vec<String>> {
        let of_all = grant.is_empty();
        let (taken, left) = match std::mem::replace(self, Self::Nothing) {
            Self::Nothing => (None, Self::Nothing),
            Self::All if of_all => (Some(Vec::new()), Self::Nothing),
            Self::All => (Some(grant.iter().cloned().collect()), Self::All),
            Self::Only(names) if of_all => (Some(names.into_iter().collect()), Self::Nothing),
            Self::Only(names) => {
                let (mut taken, mut left) = (BTreeSet::new(), BTreeSet::new());
                for name in names {
                    let granted = selected_tools(&name).find(|tool| grant.contains(tool));
                    match granted {
                        Some(tool) => taken.insert(tool),
                        None => left.insert(name),
                    };
                }
                let left = if left.is_empty() { Self::Nothing } else { Self::Only(left) };
                ((!taken.is_empty()).then(|| taken.into_iter().collect()), left)
            }
        };
        *self = left;
        taken
    }
}

fn register_rejection(what: &str, name: String, permission: &str, reason: String) -> RegisterRejected {
    RegisterRejected { what: what.to_owned(), name, permission: permission.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(json: &str) -> Permissions {
        serde_json::from_str(json).unwrap()
    }

    /// Checks the granted part of a subscription to intercepts, and the reasons of the rejections.
    #[track_caller]
    fn check(grants: &str, asked: &str, expect: &str, reasons: &[&str]) {
        let permissions = permissions(&format!(r#"{{"events":["turn_end"],"intercept":[{grants}]}}"#));
        let asked = serde_json::from_str(&format!(r#"{{"intercept":[{asked}]}}"#)).unwrap();
        let (granted, rest) = split_granted(&permissions, asked);
        assert_eq!(serde_json::to_string(&granted.intercept).unwrap(), format!("[{expect}]"));
        assert_eq!(rest.iter().map(|rejected| rejected.reason.as_str()).collect::<Vec<_>>(), reasons);
    }

    const GATE: &str = r#"{"event":"tool_call","role":"gate"}"#;
    const GATE_BASH: &str = r#"{"event":"tool_call","role":"gate","tools":["bash"]}"#;
    const REWRITE_EDIT: &str = r#"{"event":"tool_call","role":"rewrite","tools":["edit"]}"#;

    #[test]
    fn grant_of_all_covers_each_tool() {
        check(GATE, GATE, GATE, &[]);
        let bash = r#"{"event":"tool_call","tools":["bash"],"role":"gate"}"#;
        check(GATE, bash, bash, &[]);
        check(GATE_BASH, bash, bash, &[]);
    }

    #[test]
    fn rejects_only_ungranted_part() {
        let both = r#"{"event":"tool_call","tools":["Bash","edit"],"role":"gate"}"#;
        let bash = r#"{"event":"tool_call","tools":["bash"],"role":"gate"}"#;
        let only = ["intercept tool_call as gate is granted for these tools only: bash"];
        check(GATE_BASH, both, bash, &only);
        check(GATE_BASH, GATE, bash, &only);
        let other = r#"{"event":"tool_call","tools":["edit"],"role":"gate"}"#;
        check(
            GATE_BASH,
            other,
            "",
            &["intercept tool_call as gate is not granted: its permissions do not name it"],
        );
    }

    #[test]
    fn grant_applies_only_to_its_role() {
        let rewrite = r#"{"event":"tool_call","tools":["bash"],"role":"rewrite"}"#;
        check(
            GATE_BASH,
            rewrite,
            "",
            &["intercept tool_call as rewrite is not granted: its permissions do not name it"],
        );
        let gate = r#"{"event":"tool_call","tools":["edit"],"role":"gate"}"#;
        check(
            REWRITE_EDIT,
            gate,
            "",
            &["intercept tool_call as gate is not granted: its permissions do not name it"],
        );
        check(
            "",
            r#""turn_start""#,
            "",
            &["intercept turn_start is not granted: its permissions do not name it"],
        );
    }

    #[test]
    fn role_that_the_hook_does_not_have_is_named() {
        let subscribed = |event: &str, role: &str| format!(r#"{{"event":"{event}","role":"{role}"}}"#);
        let only =
            "intercept before_agent_start as gate is not granted: this hook has only the role `rewrite`";
        let rewrite = subscribed("before_agent_start", "rewrite");
        check(&rewrite, &subscribed("before_agent_start", "gate"), "", &[only]);
        check("", &subscribed("before_agent_start", "gate"), "", &[only]);
        let only = "intercept approve as rewrite is not granted: this hook has only the role `gate`";
        check("", &subscribed("approve", "rewrite"), "", &[only]);
        let only =
            "intercept tool_call as wait is not granted: this hook has only the roles `gate`, `rewrite`";
        check(GATE, &subscribed("tool_call", "wait"), "", &[only]);
    }

    #[test]
    fn missing_role_uses_granted_role() {
        check(GATE, r#""tool_call""#, r#""tool_call""#, &[]);
        let (bash, edit) =
            (r#"{"event":"tool_call","tools":["bash"]}"#, r#"{"event":"tool_call","tools":["edit"]}"#);
        let grants = format!("{GATE_BASH},{REWRITE_EDIT}");
        let both = format!("{edit},{bash}");
        check(&grants, r#"{"event":"tool_call","tools":["bash","edit"]}"#, &both, &[]);
        check(&grants, r#""tool_call""#, &both, &[]);
        let only = "intercept tool_call is granted for these tools only: bash";
        check(GATE_BASH, r#"{"event":"tool_call","tools":["bash","edit"]}"#, bash, &[only]);
        let redactor = r#"{"event":"assistant_message","role":"redactor"}"#;
        check(redactor, r#""assistant_message""#, r#""assistant_message""#, &[]);
        let gate = r#"{"event":"turn_start","role":"gate"}"#;
        check(gate, r#""turn_start""#, r#""turn_start""#, &[]);
    }

    #[test]
    fn observer_needs_event_grant() {
        check(
            "",
            r#"{"event":"turn_end","role":"observe"}"#,
            r#"{"event":"turn_end","role":"observe"}"#,
            &[],
        );
        let turn_start = r#"{"event":"turn_start","role":"observe"}"#;
        check(GATE, turn_start, "", &["event \"turn_start\" is not granted: its permissions do not name it"]);
        check(GATE, r#""warp""#, r#""warp""#, &[]);
    }

    #[test]
    fn grants_tools_and_events_by_name() {
        let granted = permissions(r#"{"tools":{"register":["weather"]},"events":["turn_end"]}"#);
        assert_eq!(reject_tool(&granted, "weather"), None);
        assert_eq!(reject_tool(&permissions(r#"{"tools":{"replace":["bash"]}}"#), "bash"), None);
        let bash = reject_tool(&granted, "bash").unwrap();
        assert_eq!((bash.what.as_str(), bash.permission.as_str()), ("tool", "tools.register"));
        let events = vec!["turn_end".into(), "tool_call".into()];
        let asked = Subscribe { replace: false, events, intercept: Vec::new() };
        let (kept, rest) = split_granted(&granted, asked);
        assert_eq!(kept.events, ["turn_end".into()]);
        let named = rest.iter().map(|one| (one.what.as_str(), one.name.as_str(), one.permission.as_str()));
        assert_eq!(named.collect::<Vec<_>>(), [("event", "tool_call", "events")]);
    }
}
