//! The fields about the start and the end of an extension's process. They are optional: a mistake in one is reported,
//! and the field is ignored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use haft_protocol::ext::{RegisterCommand, RegisterTool, event_names};
use serde::de::DeserializeOwned;

use super::{ManifestError, ObjectFields};

/// The start and the end of an extension's process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// True if the process may exit with status 0 while no request is pending; the next request starts it again.
    pub on_demand: bool,
    /// The deadline of `hello`, instead of the default.
    pub hello: Option<Duration>,
    /// The deadline from `hello` to `ready`, instead of the default.
    pub ready: Option<Duration>,
    /// The uses that start the extension; `None` if it starts immediately.
    pub activation: Option<Arc<Activation>>,
}

/// The uses that start an extension, and its tools and commands before the first of them.
///
/// `"activation": ["tool:weather", "command:weather", "event:turn_end"]`, with the fields `tools` and `commands`,
/// whose entries have the fields of `register_tool` and `register_command`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activation {
    /// `tools`: an entry for each `tool:NAME`.
    pub tools: Vec<RegisterTool>,
    /// `commands`: an entry for each `command:NAME`.
    pub commands: Vec<RegisterCommand>,
    /// The events of `event:NAME`.
    pub events: BTreeSet<String>,
}

/// Reads the fields and the mistakes in them. `guards` is true for a required extension or one with intercepts.
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
            .map_err(|error| ignored.push(format!("{error}; the extension starts immediately")))
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

/// Reads the uses that start the extension; `None` if it starts immediately.
///
/// # Errors
/// The entry that is not valid, or the tool or command without an entry in the other field.
fn read_activation(fields: &ObjectFields<'_>, guards: bool) -> Result<Option<Activation>, ManifestError> {
    if !fields.has("activation") {
        return Ok(None);
    }
    let wrong = |problem: &str| fields.error("activation", problem);
    if guards {
        return Err(wrong("cannot be combined with `required` or `intercept`: a gate starts immediately"));
    }
    let uses = fields.text_list("activation")?;
    if uses.is_empty() {
        return Err(wrong("must have at least one entry, or be left out"));
    }
    let (mut tools, mut commands, mut events) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for entry in &uses {
        match entry.split_once(':') {
            Some(("tool", name)) => _ = tools.insert(name),
            Some(("command", name)) => _ = commands.insert(name),
            Some(("event", name)) if event_names().any(|known| known == name) => {
                _ = events.insert(name.to_owned())
            }
            Some(("event", name)) => {
                let known = event_names().collect::<Vec<_>>().join(", ");
                return Err(wrong(&format!("has the unknown event {name:?}; the known events are {known}")));
            }
            Some(_) | None => {
                return Err(wrong(&format!(
                    "has the unknown entry {entry:?}; use `command:NAME`, `tool:NAME` or `event:NAME`"
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

/// Returns the entries of `tools` or `commands`, which must match those in `activation`.
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
        return Err(fields.error(&field, "has two entries with the same name"));
    }
    Ok(entries)
}
