//! Tools whose texts changed since the approval of their extension: shows the differences and asks.

use haft_core::sanitize::sanitize_line;
use haft_packages::PinnedTool;
use haft_packages::install::lock::LockEntry;
use haft_packages::install::{ExtensionStore, InstallError, InstalledExtension, approve_tools};
use haft_protocol::ids::ExtensionName;

use super::problem::ExtensionProblem;
use crate::console::{confirm_at_terminal, note, print};

/// Shows the texts of locked tools and asks whether the model may receive them. Returns false if no tool is locked.
///
/// # Errors
/// No terminal is available, or the approval cannot be saved.
pub(super) fn unlock(store: &ExtensionStore, row: &InstalledExtension, yes: bool) -> anyhow::Result<bool> {
    let changed = row.entry.as_ref().filter(|entry| !entry.changed.is_empty());
    let Some(entry) = changed else { return Ok(false) };
    for text in changed_text_lines(entry) {
        print(&sanitize_line(&text))?;
    }
    let name = sanitize_line(&row.name);
    let known = ExtensionName::new(row.name.as_str());
    if yes || confirm_at_terminal(&format!("give these texts of the tools of {name} to the model?"))? {
        if !approve_tools(&store.approved, &known, entry)? {
            return Err(InstallError::ConcurrentChange { name: known }.into());
        }
        note(&format!("the tools of {name} are available again, with these texts"));
    } else {
        note("nothing was changed: the tools stay locked");
    }
    Ok(true)
}

fn changed_text_lines(entry: &LockEntry) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, now) in &entry.changed {
        let before = entry.tools.get(name).map(tool_texts).unwrap_or_default();
        lines.push(format!("tool {name}"));
        for ((what, new), (_, old)) in tool_texts(now).into_iter().zip(before) {
            if old != new {
                lines.push(format!("  {what} was: {old}"));
                lines.push(format!("  {what} is:  {new}"));
            }
        }
        if entry.has_changed_repeatedly(name) {
            lines.push(format!("  its texts change repeatedly; {UNSTEADY}"));
        }
    }
    lines
}

/// The advice for a tool whose texts keep changing.
const UNSTEADY: &str = "an approval does not last. The author must keep the texts constant and move variable parts to the results. \
                        `haft --ext DIR` runs an extension without this check";

/// Returns a problem for the locked tools that an approval unlocks, and one for each tool that it does not.
pub(crate) fn locked_tool_problems(name: &str, entry: &LockEntry) -> Vec<ExtensionProblem> {
    let (unsteady, steady): (Vec<_>, Vec<_>) =
        entry.changed.keys().partition(|tool| entry.has_changed_repeatedly(tool));
    let trust = format!("haft ext trust {name}");
    let mut all = Vec::new();
    if !steady.is_empty() {
        let text = format!(
            "{} locked: the texts for the model differ from the approved ones",
            tools_with_verb(&steady)
        );
        all.push(ExtensionProblem::new(text, &trust, "shows the differences and asks"));
    }
    for tool in unsteady {
        let differing = changed_parts(entry, tool).join(", ");
        let text = format!("tool {tool} is locked: its texts ({differing}) change repeatedly; {UNSTEADY}");
        all.push(ExtensionProblem::new(text, &trust, "shows the differences"));
    }
    all
}

fn tools_with_verb(tools: &[&String]) -> String {
    let names: Vec<_> = tools.iter().map(|name| name.as_str()).collect();
    match names.as_slice() {
        [name] => format!("tool {name} is"),
        names => format!("tools {} are", names.join(", ")),
    }
}

/// Returns the names of a tool's texts that differ from the approved ones.
fn changed_parts(entry: &LockEntry, tool: &str) -> Vec<&'static str> {
    let (Some(before), Some(now)) = (entry.tools.get(tool), entry.changed.get(tool)) else {
        return Vec::new();
    };
    let pairs = tool_texts(before).into_iter().zip(tool_texts(now));
    pairs.filter(|((_, before), (_, now))| before != now).map(|((what, _), _)| what).collect()
}

/// Returns the texts of a tool that the model receives, each with its name.
fn tool_texts(tool: &PinnedTool) -> [(&'static str, String); 4] {
    [
        ("description", tool.description.clone()),
        ("arguments", tool.schema.as_str().to_owned()),
        ("advice", tool.guidelines.join(" / ")),
        ("summary", tool.snippet.clone()),
    ]
}
