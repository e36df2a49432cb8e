//! Tools that came with other texts than when their extension was approved: what is different, and whether that is wanted.

use haft_core::sanitize::sanitize_line;
use haft_packages::PinnedTool;
use haft_packages::install::lock::LockEntry;
use haft_packages::install::{ExtensionStore, InstallError, InstalledExtension, approve_tools};
use haft_protocol::ids::ExtensionName;

use super::problem::ExtensionProblem;
use crate::console::{confirm_at_terminal, note, print};

/// Shows the texts that are locked and asks whether they may be used; nothing when none are.
///
/// # Errors
/// When nobody can be asked, or the answer cannot be kept.
pub(super) fn unlock(store: &ExtensionStore, row: &InstalledExtension, yes: bool) -> anyhow::Result<bool> {
    let changed = row.entry.as_ref().filter(|entry| !entry.changed.is_empty());
    let Some(entry) = changed else { return Ok(false) };
    for text in changed_text_lines(entry) {
        print(&sanitize_line(&text))?;
    }
    let name = sanitize_line(&row.name);
    let known = ExtensionName::new(row.name.as_str());
    if yes || confirm_at_terminal(&format!("let the model be told this of the tools of {name}?"))? {
        if !approve_tools(&store.approved, &known, entry)? {
            return Err(InstallError::Meanwhile { name: known }.into());
        }
        note(&format!("the tools of {name} are offered again, with these texts"));
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
            lines.push(format!("  its texts change again and again, so {UNSTEADY}"));
        }
    }
    lines
}

/// The text about a tool that no approval unlocks for long.
const UNSTEADY: &str = "agreeing does not last; its author has to keep them the same, and put what differs into results. \
                        `haft --ext DIR` runs an extension without holding it to its texts";

/// Which tools of an extension are locked, and the next step: those that a yes unlocks, and those that it does not.
pub(crate) fn locked_tool_problems(name: &str, entry: &LockEntry) -> Vec<ExtensionProblem> {
    let (unsteady, steady): (Vec<_>, Vec<_>) =
        entry.changed.keys().partition(|tool| entry.has_changed_repeatedly(tool));
    let trust = format!("haft ext trust {name}");
    let mut all = Vec::new();
    if !steady.is_empty() {
        let text = format!(
            "{} locked: the model would be told something else than was approved",
            tools_with_verb(&steady)
        );
        all.push(ExtensionProblem::new(text, &trust, "shows the difference, and asks"));
    }
    for tool in unsteady {
        let differing = changed_parts(entry, tool).join(", ");
        let text =
            format!("tool {tool} is locked: its texts ({differing}) change again and again, so {UNSTEADY}");
        all.push(ExtensionProblem::new(text, &trust, "shows the difference"));
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

/// Returns the parts of a tool's texts that are not as approved.
fn changed_parts(entry: &LockEntry, tool: &str) -> Vec<&'static str> {
    let (Some(before), Some(now)) = (entry.tools.get(tool), entry.changed.get(tool)) else {
        return Vec::new();
    };
    let pairs = tool_texts(before).into_iter().zip(tool_texts(now));
    pairs.filter(|((_, before), (_, now))| before != now).map(|((what, _), _)| what).collect()
}

/// Everything that the model is told of a tool, each behind what it is.
fn tool_texts(tool: &PinnedTool) -> [(&'static str, String); 3] {
    [
        ("description", tool.description.clone()),
        ("arguments", tool.schema.as_str().to_owned()),
        ("advice", tool.guidelines.join(" / ")),
    ]
}
