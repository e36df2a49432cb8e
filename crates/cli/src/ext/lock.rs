//! `haft ext lock` and `haft ext verify`: the approvals, and whether the files still match them.

use std::path::PathBuf;

use anyhow::Context as _;
use haft_core::sanitize::sanitize_line;
use haft_packages::install::lock::LockEntry;
use haft_packages::install::{ExtensionStore, check_approved, files_beside_code};
use haft_protocol::ids::ExtensionName;
use serde_json::json;

use super::listing::{approval_line, previous_version_lines};
use super::problem::reapproval_step;
use crate::console::{note, print as show};

pub(super) fn print(store: &ExtensionStore, json: bool) -> anyhow::Result<()> {
    let file = store.approved.load()?;
    if json {
        return show(&serde_json::to_string_pretty(&file).context("cannot write JSON")?);
    }
    if file.extensions.is_empty() {
        note("no extensions approved");
    }
    for (name, entry) in &file.extensions {
        for line in entry_lines(store, name, entry) {
            show(&sanitize_line(&line))?;
        }
    }
    Ok(())
}

fn entry_lines(store: &ExtensionStore, name: &ExtensionName, entry: &LockEntry) -> Vec<String> {
    let mut lines = vec![
        name.as_str().to_owned(),
        format!("  from: {}", entry.source),
        format!("  code: {}", entry.tree),
        format!("  manifest: {}", entry.manifest),
    ];
    lines.extend(entry.interpreter.iter().map(|program| format!("  run by: {}", program.display())));
    lines.push(format!("  runs in: {}", store.approved.run_dir(name, entry).display()));
    let level = entry.sandbox.map_or_else(|| "none".to_owned(), |level| level.to_string());
    lines.push(format!("  sandbox: {level}"));
    lines.push(approval_line(entry));
    if !entry.enabled {
        lines.push("  disabled".to_owned());
    }
    lines.extend(previous_version_lines(entry));
    lines
}

/// Verifies the files of approved extensions.
///
/// # Errors
/// The files of an extension differ from its approval.
pub(super) fn verify(store: &ExtensionStore, name: Option<&str>, json: bool) -> anyhow::Result<()> {
    let file = store.approved.load()?;
    let wanted = |known: &ExtensionName| name.is_none_or(|name| known.as_str().eq_ignore_ascii_case(name));
    let entries: Vec<_> = file.extensions.iter().filter(|(known, _)| wanted(known)).collect();
    match name {
        Some(name) if entries.is_empty() => anyhow::bail!("the extension {name:?} is not approved"),
        None if entries.is_empty() && !json => note("no extensions approved"),
        Some(_) | None => {}
    }
    let mut broken = 0_usize;
    for (name, entry) in &entries {
        let wrong = check_approved(&store.approved, entry);
        broken += usize::from(!wrong.is_empty());
        let beside = files_beside_code(&store.approved, name, entry);
        match json {
            true => show(&verification_json(name, entry, &wrong, &beside))?,
            false => {
                show(&verification_line(name, entry, &wrong))?;
                extra_files_line(store, name, &beside).map_or(Ok(()), |text| show(&sanitize_line(&text)))?;
            }
        }
    }
    anyhow::ensure!(
        broken == 0,
        "{broken} of {} extensions differ from their approval and do not run",
        entries.len()
    );
    Ok(())
}

fn verification_line(name: &ExtensionName, entry: &LockEntry, wrong: &[String]) -> String {
    let text = match wrong.is_empty() {
        true => format!("{name}: unchanged"),
        false => {
            let (next, does) = reapproval_step(name.as_str(), Some(entry));
            format!("{name}: CHANGED since approval: {}; `{next}` {does}", wrong.join("; "))
        }
    };
    sanitize_line(&text)
}

/// Returns a line about unapproved files in the directory where the extension runs. haft keeps such files.
fn extra_files_line(store: &ExtensionStore, name: &ExtensionName, beside: &[PathBuf]) -> Option<String> {
    /// The maximum number of names.
    const NAMED: usize = 8;
    let names: Vec<_> = beside.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    let more = match beside.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let dir = store.approved.copy_dir(name);
    let all = names.join(", ");
    (!names.is_empty()).then(|| format!("  {} also holds: {all}{more} (kept as its state)", dir.display()))
}

fn verification_json(
    name: &ExtensionName,
    entry: &LockEntry,
    wrong: &[String],
    beside: &[PathBuf],
) -> String {
    let beside: Vec<_> = beside.iter().map(|path| path.to_string_lossy()).collect();
    let next = (!wrong.is_empty()).then(|| reapproval_step(name.as_str(), Some(entry)).0);
    json!({"name": name, "code": entry.tree, "as_approved": wrong.is_empty(), "wrong": wrong, "beside": beside, "next": next})
        .to_string()
}
