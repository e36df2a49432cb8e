//! What a manifest says that the extension guards: `intercept`, or what it asks for in `permissions.intercept`.

use std::collections::BTreeSet;

use haft_protocol::ext::InterceptKind;

use super::{Fields, ManifestError};
use crate::permission::{InterceptAs, Permissions};
use crate::spec::Roles;

/// What one entry of `intercept` says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    As(InterceptAs),
    Observes,
}

/// `"intercept":[{"event":"tool_call","role":"gate","required":true}]`, and `"required":true` for the whole. Without
/// `intercept`, what the permissions say of it counts; with both, they say the same.
pub(super) fn read(fields: &Fields<'_>, permissions: Option<&Permissions>) -> Result<Roles, ManifestError> {
    let mut roles = Roles { required: fields.boolean("required")?.unwrap_or(false), ..Roles::default() };
    only_block(fields)?;
    let mut said = BTreeSet::new();
    for entry in fields.objects("intercept")? {
        let (event, role, required) = entry_of(&entry)?;
        roles.required |= required;
        if let Said::As(role) = role {
            said.insert((event, role));
        }
    }
    let asked = permissions.map(asked);
    match (fields.has("intercept"), asked) {
        (true, Some(asked)) if asked != said => {
            let rule = "must have the events and roles of `permissions.intercept`, or be left out";
            return Err(fields.error("intercept", rule));
        }
        (false, Some(asked)) => said = asked,
        (true, Some(_)) | (_, None) => {}
    }
    for (event, role) in said {
        match role {
            InterceptAs::Gate => roles.gates.push(event),
            InterceptAs::Redactor => roles.redactor = true,
            InterceptAs::Rewrite => {}
        }
    }
    Ok(roles)
}

fn asked(permissions: &Permissions) -> BTreeSet<(InterceptKind, InterceptAs)> {
    permissions.intercept.iter().map(|entry| (entry.event, entry.role)).collect()
}

fn entry_of(entry: &Fields<'_>) -> Result<(InterceptKind, Said, bool), ManifestError> {
    let event = entry.text("event")?.ok_or_else(|| entry.error("event", "is required"))?;
    let event = InterceptKind::from_name(&event).ok_or_else(|| entry.error("event", &known_events()))?;
    let required = entry.boolean("required")?.unwrap_or(false);
    only_block(entry)?;
    // Nothing said means the safe thing: that a failure blocks.
    let role = match entry.text("role")?.as_deref().unwrap_or("gate") {
        "gate" => Said::As(InterceptAs::Gate),
        "redactor" if event == InterceptKind::AssistantMessage => Said::As(InterceptAs::Redactor),
        "redactor" => return Err(entry.error("role", "can be `redactor` only for `assistant_message`")),
        "rewrite" | "transform" | "observe" | "observer" if required => {
            return Err(entry.error("required", "needs the role `gate` or `redactor`"));
        }
        "rewrite" | "transform" => Said::As(InterceptAs::Rewrite),
        "observe" | "observer" => Said::Observes,
        _ => return Err(entry.error("role", "must be `gate`, `redactor`, `rewrite` or `observe`")),
    };
    Ok((event, role, required))
}

/// What may happen without an answer is the user's to say: a manifest that wants it looser is refused, because whoever
/// wrote it relies on something that will not be.
pub(crate) fn only_block(fields: &Fields<'_>) -> Result<(), ManifestError> {
    for field in ["on_timeout", "on_error"] {
        if fields.text(field)?.is_some_and(|value| value != "block") {
            let rule =
                "can only be `block` here; the user may set `on_timeout` for an extension in config.toml";
            return Err(fields.error(field, rule));
        }
    }
    Ok(())
}

fn known_events() -> String {
    let names: Vec<_> = InterceptKind::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect();
    format!("must be one of {}", names.join(", "))
}
