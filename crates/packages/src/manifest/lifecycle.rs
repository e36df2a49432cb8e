//! The fields about when an extension starts and ends. It can do without them, so a mistake in one is told, and the
//! field counts as left out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use haft_protocol::ext::{LifecycleEvent, RegisterCommand, RegisterTool};
use serde::de::DeserializeOwned;

use super::{ManifestError, ObjectFields};

/// The start and the end of an extension, as its manifest says them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// It may leave, with status 0, when nobody waits for an answer; the next question starts it again.
    pub on_demand: bool,
    /// The deadline of `hello`, instead of the one that every extension has.
    pub hello: Option<Duration>,
    /// The deadline from `hello` to `ready`, instead of the one that every extension has.
    pub ready: Option<Duration>,
    /// The uses that start it, with what it offers until then; none for one that starts at once.
    pub activation: Option<Arc<Activation>>,
}

/// The uses that start an extension, and what it offers before the first of them.
///
/// `"activation": ["tool:weather", "command:weather", "event:turn_end"]`, with the tools and commands beside it, in the
/// fields of `register_tool` and `register_command`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activation {
    /// `tools`: one for each `tool:NAME`.
    pub tools: Vec<RegisterTool>,
    /// `commands`: one for each `command:NAME`.
    pub commands: Vec<RegisterCommand>,
    /// The events of `event:NAME`.
    pub events: BTreeSet<String>,
}

/// Reads the fields of the manifest, and the mistakes in them. `guards` is true of an extension that must be in place.
pub(super) fn read(fields: &ObjectFields<'_>, guards: bool) -> (Lifecycle, Vec<String>) {
    let mut ignored = Vec::new();
    let on_demand = ok_or_ignored(read_on_demand(fields), &mut ignored).unwrap_or_default();
    let mut deadline = |field| {
        let asked = ok_or_ignored(fields.milliseconds(field), &mut ignored).flatten();
        asked.map(Duration::from_millis)
    };
    let lifecycle = Lifecycle {
        on_demand,
        hello: deadline("hello_timeout_ms"),
        ready: deadline("ready_timeout_ms"),
        activation: read_activation(fields, guards)
            .map_err(|error| ignored.push(format!("{error}; the extension starts at once")))
            .unwrap_or_default()
            .map(Arc::new),
    };
    (lifecycle, ignored)
}

fn ok_or_ignored<T>(value: Result<T, ManifestError>, ignored: &mut Vec<String>) -> Option<T> {
    value.map_err(|error| ignored.push(format!("{error}; the field is ignored"))).ok()
}

fn read_on_demand(fields: &ObjectFields<'_>) -> Result<bool, ManifestError> {
    match fields.text("lifecycle")?.as_deref() {
        None | Some("always") => Ok(false),
        Some("on_demand") => Ok(true),
        Some(_) => Err(fields.error("lifecycle", "must be `always` or `on_demand`")),
    }
}

/// The uses that start the extension, if it does not start at once.
///
/// # Errors
/// The entry that makes no sense, or the tool or command that lacks its other half.
fn read_activation(fields: &ObjectFields<'_>, guards: bool) -> Result<Option<Activation>, ManifestError> {
    if !fields.has("activation") {
        return Ok(None);
    }
    let wrong = |problem: &str| fields.error("activation", problem);
    if guards {
        return Err(wrong("cannot be there beside `required` or `intercept`: a guard starts at once"));
    }
    let uses = fields.text_list("activation")?;
    if uses.is_empty() {
        return Err(wrong("must name at least one use, or be left out"));
    }
    let (mut tools, mut commands, mut events) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for entry in &uses {
        match entry.split_once(':') {
            Some(("tool", name)) => _ = tools.insert(name),
            Some(("command", name)) => _ = commands.insert(name),
            Some(("event", name)) if LifecycleEvent::NAMES.contains(&name) => {
                _ = events.insert(name.to_owned())
            }
            Some(("event", name)) => {
                let known = LifecycleEvent::NAMES.join(", ");
                return Err(wrong(&format!("names the event {name:?}; there are {known}")));
            }
            Some(_) | None => {
                return Err(wrong(&format!(
                    "has the entry {entry:?}; there are `command:NAME`, `tool:NAME` and `event:NAME`"
                )));
            }
        }
    }
    Ok(Some(Activation {
        tools: declared_entries(fields, "tool", &tools, |tool: &RegisterTool| &tool.name)?,
        commands: declared_entries(fields, "command", &commands, |command: &RegisterCommand| &command.name)?,
        events,
    }))
}

/// The entries of `tools` or `commands`, which are those that `activation` names.
fn declared_entries<T: DeserializeOwned>(
    fields: &ObjectFields<'_>,
    kind: &str,
    named: &BTreeSet<&str>,
    name: impl Fn(&T) -> &String,
) -> Result<Vec<T>, ManifestError> {
    let field = format!("{kind}s");
    let entries: Vec<T> = fields.elements(&field, kind)?;
    let names: BTreeSet<&str> = entries.iter().map(|entry| name(entry).as_str()).collect();
    if let Some(missing) = named.difference(&names).next() {
        let problem = format!("names {kind}:{missing}; describe that {kind} in `{field}`");
        return Err(fields.error("activation", &problem));
    }
    if let Some(unnamed) = names.difference(named).next() {
        return Err(
            fields.error(&field, &format!("describes {unnamed}; add {kind}:{unnamed} to `activation`"))
        );
    }
    if names.len() < entries.len() {
        return Err(fields.error(&field, "has two entries of one name"));
    }
    Ok(entries)
}
