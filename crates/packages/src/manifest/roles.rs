//! Roles of an extension as a gate, from `intercept` or `permissions.intercept` in its manifest.

use std::collections::BTreeSet;

use haft_protocol::ext::InterceptKind;

use super::permission::{InterceptPermissionRole, Permissions};
use super::{ManifestError, ObjectFields};

/// The intercepts that a manifest declares, which decide about the effect of their failures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuardRoles {
    /// True if the guarded actions are blocked while the extension does not run (see [`GuardRoles::requires_hook`]).
    pub required: bool,
    /// Hooks whose failure blocks. A failure of `tool_call` always blocks.
    pub gates: Vec<InterceptKind>,
    /// True if a failed `assistant_message` intercept withholds the text.
    pub redactor: bool,
    /// True if the extension is asked whether a project is trusted, before the other extensions start.
    pub decides_trust: bool,
}

impl GuardRoles {
    /// True if the extension is required, or a failure of one of its intercepts blocks.
    pub fn is_gate(&self) -> bool {
        self.required || self.redactor || !self.gates.is_empty()
    }

    /// True if the manifest declares that a failure of this hook blocks.
    pub fn blocks_on_failure(&self, hook: InterceptKind) -> bool {
        self.gates.contains(&hook) || (self.redactor && hook == InterceptKind::AssistantMessage)
    }

    /// True if this hook must be in place: a required extension names it, or it is `tool_call` and a required
    /// extension names no hook.
    pub fn requires_hook(&self, hook: InterceptKind) -> bool {
        let unnamed = self.gates.is_empty() && !self.redactor;
        self.required && (self.blocks_on_failure(hook) || (unnamed && hook == InterceptKind::ToolCall))
    }
}

/// Reads `"intercept":[{"event":"tool_call","role":"gate","required":true}]`, and `"required":true` for the whole
/// extension. Without `intercept`, `permissions.intercept` counts. If both are present, they must agree.
pub(super) fn read(
    fields: &ObjectFields<'_>,
    permissions: Option<&Permissions>,
) -> Result<GuardRoles, ManifestError> {
    let mut roles =
        GuardRoles { required: fields.boolean("required")?.unwrap_or(false), ..GuardRoles::default() };
    fields.require_block_policy()?;
    let mut said = BTreeSet::new();
    for entry in fields.objects("intercept")? {
        let (event, role, required) = read_entry(&entry)?;
        roles.required |= required;
        said.extend(role.map(|role| (event, role)));
    }
    let asked = |permissions: &Permissions| {
        permissions.intercept.iter().map(|entry| (entry.event, entry.role)).collect()
    };
    match (fields.has("intercept"), permissions.map(asked)) {
        (true, Some(asked)) if asked != said => {
            let rule = "must have the same events and roles as `permissions.intercept`, or be left out";
            return Err(fields.error("intercept", rule));
        }
        (false, Some(asked)) => said = asked,
        (true, Some(_)) | (_, None) => {}
    }
    for (event, role) in said {
        roles.decides_trust |= event == InterceptKind::ProjectTrust;
        match role {
            InterceptPermissionRole::Gate => roles.gates.push(event),
            InterceptPermissionRole::Redactor => roles.redactor = true,
            InterceptPermissionRole::Rewrite | InterceptPermissionRole::Wait => {}
        }
    }
    Ok(roles)
}

/// Reads an entry: its event, its role, which is `None` for an observer, and true if it is required.
fn read_entry(
    entry: &ObjectFields<'_>,
) -> Result<(InterceptKind, Option<InterceptPermissionRole>, bool), ManifestError> {
    let event = entry.text("event")?.ok_or_else(|| entry.error("event", "is required"))?;
    let event = InterceptKind::from_name(&event).ok_or_else(|| entry.error("event", &known_events()))?;
    let required = entry.boolean("required")?.unwrap_or(false);
    entry.require_block_policy()?;
    if event.is_wait() {
        return match entry.text("role")?.as_deref() {
            Some("wait") if required => Err(entry.error("required", "needs the role `gate` or `redactor`")),
            Some("wait") => Ok((event, Some(InterceptPermissionRole::Wait), false)),
            Some("observe" | "observer") if !required => Ok((event, None, false)),
            _ => Err(entry.error("role", &format!("must be `wait` for `{}`", event.name()))),
        };
    }
    // The default is the safe role: a failure blocks.
    let role = match entry.text("role")?.as_deref().unwrap_or("gate") {
        "gate" if event == InterceptKind::ProjectTrust => {
            return Err(entry.error("role", "must be `rewrite` for `project_trust`"));
        }
        "gate" => Some(InterceptPermissionRole::Gate),
        "redactor" if event == InterceptKind::AssistantMessage => Some(InterceptPermissionRole::Redactor),
        "redactor" => return Err(entry.error("role", "can be `redactor` only for `assistant_message`")),
        "rewrite" | "transform" | "observe" | "observer" if required => {
            return Err(entry.error("required", "needs the role `gate` or `redactor`"));
        }
        "rewrite" | "transform" => Some(InterceptPermissionRole::Rewrite),
        "observe" | "observer" => None,
        _ => return Err(entry.error("role", "must be `gate`, `redactor`, `rewrite` or `observe`")),
    };
    Ok((event, role, required))
}

fn known_events() -> String {
    let names: Vec<_> = InterceptKind::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect();
    format!("must be one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_extension_guards_named_hooks_or_tool_calls() {
        let required = GuardRoles { required: true, ..GuardRoles::default() };
        assert!(required.requires_hook(InterceptKind::ToolCall));
        assert!(!required.requires_hook(InterceptKind::TurnStart));

        let redactor = GuardRoles { redactor: true, ..required };
        assert!(redactor.requires_hook(InterceptKind::AssistantMessage));
        assert!(!redactor.requires_hook(InterceptKind::ToolCall));

        let optional = GuardRoles { gates: vec![InterceptKind::TurnStart], ..GuardRoles::default() };
        assert!(optional.blocks_on_failure(InterceptKind::TurnStart));
        assert!(!optional.requires_hook(InterceptKind::TurnStart));
    }
}
