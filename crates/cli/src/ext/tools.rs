//! Tools that came with other texts than when their extension was approved: what is different, and whether that is wanted.

use haft_core::sanitize::sanitize_line;
use haft_host::PinnedTool;
use haft_host::install::lock::Entry;
use haft_host::install::{Row, Store};
use haft_protocol::ids::ExtensionName;

use super::approve::agreed;
use crate::console::{note, print};

/// Shows the texts that are locked and asks whether they may be used; nothing when none are.
///
/// # Errors
/// When nobody can be asked, or the answer cannot be kept.
pub(super) fn unlock(store: &Store, row: &Row, yes: bool) -> anyhow::Result<bool> {
    let changed = row.entry.as_ref().filter(|entry| !entry.changed.is_empty());
    let Some(entry) = changed else { return Ok(false) };
    for text in shown(entry) {
        print(&sanitize_line(&text))?;
    }
    let name = sanitize_line(&row.name);
    if yes || agreed(&format!("let the model be told this of the tools of {name}?"))? {
        store.approved.agree(&ExtensionName::new(row.name.as_str()), &entry.changed)?;
        note(&format!("the tools of {name} are offered again, with these texts"));
    } else {
        note("nothing was changed: the tools stay locked");
    }
    Ok(true)
}

/// What was told and what would be, one line each.
fn shown(entry: &Entry) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, now) in &entry.changed {
        let before = entry.tools.get(name).map(texts).unwrap_or_default();
        lines.push(format!("tool {name}"));
        for ((what, new), (_, old)) in texts(now).into_iter().zip(before) {
            if old != new {
                lines.push(format!("  {what} was: {old}"));
                lines.push(format!("  {what} is:  {new}"));
            }
        }
    }
    lines
}

/// Everything that the model is told of a tool, each behind what it is.
fn texts(tool: &PinnedTool) -> [(&'static str, String); 3] {
    [
        ("description", tool.description.clone()),
        ("arguments", tool.schema.as_str().to_owned()),
        ("advice", tool.guidelines.join(" / ")),
    ]
}
