//! `haft ext install`, `trust`, `update` and `rollback`: show the effect, ask, apply.

use std::path::Path;

use haft_config::Home;
use haft_core::sanitize::sanitize_line;
use haft_host::forget_failure;
use haft_packages::ExtensionOrigin;
use haft_packages::install::lock::{ApprovalMethod, InstallOrigin, LockEntry};
use haft_packages::install::{
    ApprovalLine, ExtensionStore, InstallProposal, InstallSource, InstallStatus, InstalledExtension,
    PreservedPath, UnusableVersion,
};
use haft_protocol::ids::ExtensionName;

use super::{print_warnings, tools};
use crate::console::{confirm_at_terminal, note, print, print_marked};

pub(super) fn install(
    store: &ExtensionStore,
    home: &Home,
    cwd: &Path,
    source: &str,
    yes: bool,
) -> anyhow::Result<()> {
    let source = InstallSource::parse(source, cwd)?;
    review_proposal(home, propose_install(store, &source)?, yes)
}

pub(super) fn trust(store: &ExtensionStore, home: &Home, name: &str, yes: bool) -> anyhow::Result<()> {
    let row = store.find(name, Some(ExtensionOrigin::Global))?;
    // If the code changed too, approving the code also asks about the texts of its tools.
    if !matches!(row.state, InstallStatus::Changed(_)) && tools::unlock(store, &row, yes)? {
        return Ok(());
    }
    match row.entry.as_ref().map(|entry| &entry.source) {
        None => review_proposal(home, store.propose_in_place(&row.dir)?, yes),
        // The path of the approval, even if it no longer exists.
        Some(InstallOrigin::Placed { path, .. }) => review_proposal(home, store.propose_in_place(path)?, yes),
        // The copy in the store cannot change.
        Some(InstallOrigin::Git { .. } | InstallOrigin::Directory { .. }) => {
            note(&format!(
                "{} was installed from a source; run `haft ext update {0}` to fetch it again",
                sanitize_line(&row.name)
            ));
            Ok(())
        }
    }
}

pub(super) fn update(
    store: &ExtensionStore,
    home: &Home,
    name: Option<&str>,
    yes: bool,
) -> anyhow::Result<()> {
    let rows = match name {
        Some(name) => vec![store.find(name, Some(ExtensionOrigin::Global))?],
        None => store.list().0.into_iter().filter(|row| row.entry.is_some()).collect(),
    };
    if rows.is_empty() {
        note("no extensions installed");
    }
    let mut failed = 0_usize;
    for row in &rows {
        if let Err(error) = update_one(store, home, row, yes) {
            // A failure does not keep the other extensions from being updated.
            note(&sanitize_line(&format!("{}: {error:#}", row.name)));
            failed += 1;
        }
    }
    anyhow::ensure!(failed == 0, "{failed} of {} extensions could not be updated", rows.len());
    Ok(())
}

fn update_one(
    store: &ExtensionStore,
    home: &Home,
    row: &InstalledExtension,
    yes: bool,
) -> anyhow::Result<()> {
    let source = match row.entry.as_ref().map(|entry| &entry.source) {
        Some(InstallOrigin::Git { url, .. }) => InstallSource::parse(url, Path::new("/"))?,
        Some(InstallOrigin::Directory { path }) => InstallSource::Directory(path.clone()),
        None | Some(InstallOrigin::Placed { .. }) => {
            note(&sanitize_line(&format!(
                "{} is in your extensions directory, {}; run `haft ext trust {0}` to approve changes there",
                row.name,
                row.dir.display()
            )));
            return Ok(());
        }
    };
    let proposal = propose_install(store, &source)?;
    anyhow::ensure!(
        proposal.name().as_str() == row.name,
        "the source now contains an extension of another name, {}; use `haft ext install` to install it",
        proposal.name()
    );
    review_proposal(home, proposal, yes)
}

fn propose_install(store: &ExtensionStore, source: &InstallSource) -> anyhow::Result<InstallProposal> {
    if let InstallSource::Git(url) = source {
        note(&sanitize_line(&format!("cloning {url}")));
    }
    Ok(store.propose(source)?)
}

fn review_proposal(home: &Home, proposal: InstallProposal, yes: bool) -> anyhow::Result<()> {
    let name = sanitize_line(proposal.name().as_str());
    if proposal.is_approved() {
        let source = sanitize_line(&proposal.entry().source.to_string());
        match proposal.record_origin()? {
            true => note(&format!("{name} is already approved and unchanged; its source is now {source}")),
            false => note(&format!("{name} is already approved and unchanged; nothing was changed")),
        }
        return Ok(());
    }
    print_lines(&proposal.lines())?;
    let unconfined = proposal.entry().sandbox.is_none() && proposal.manifest().exec.is_some();
    let question = match unconfined {
        true => format!("let {name} run WITHOUT A SANDBOX, with all your rights?"),
        false => format!("approve {name}?"),
    };
    let agreed = if yes { Ok(true) } else { confirm_at_terminal(&question) };
    if !matches!(agreed, Ok(true)) {
        match proposal.decline()? {
            true => note(&format!(
                "{name} is disabled: its new version requests more permissions than you granted. `haft ext update \
                 {name}` shows it again; `haft ext enable {name}` keeps the old version"
            )),
            false => note(&format!("nothing was changed: {name} was not approved")),
        }
        return agreed.map(drop);
    }
    let how = if yes { ApprovalMethod::Yes } else { ApprovalMethod::Terminal };
    let accepted = proposal.accept(how, env!("CARGO_PKG_VERSION"))?;
    forget_failure(&home.state_dir(), &accepted.name, &accepted.dir);
    note_moved_files(&accepted.kept);
    let verb = if accepted.replaced { "updated" } else { "approved" };
    let runs = match accepted.entry.runs_in_copy() {
        true => format!("it runs in {}", accepted.dir.display()),
        false => format!("it runs from the store ({}…)", accepted.entry.tree.short_hex()),
    };
    note(&sanitize_line(&format!("{verb} {name}; {runs}")));
    print_warnings(&accepted.warnings);
    if !accepted.entry.enabled {
        note(&disabled_note(&name));
    }
    Ok(())
}

fn disabled_note(name: &str) -> String {
    format!("{name} is disabled; `haft ext enable {name}` enables it")
}

/// Rolls an extension back to its previous version.
pub(super) fn roll_back(store: &ExtensionStore, home: &Home, name: &str, yes: bool) -> anyhow::Result<()> {
    let row = store.find(name, Some(ExtensionOrigin::Global))?;
    let name = sanitize_line(&row.name);
    let older = store.find_rollback_target(&row)?;
    let now = row.entry.as_ref();
    let is_now = now.map(describe_approval).unwrap_or_default();
    print(&sanitize_line(&format!("current version of {name}: {is_now}")))?;
    for UnusableVersion { entry, why } in &older.unusable_versions {
        print(&sanitize_line(&format!("skipped {}: {why}", describe_approval(entry))))?;
    }
    print(&sanitize_line(&format!("previous version: {}", describe_approval(&older.entry))))?;
    print_lines(&now.map(|now| older.entry.excess_rights(now)).unwrap_or_default())?;
    if !yes && !confirm_at_terminal(&format!("roll back {name} to the previous version?"))? {
        note("nothing was changed");
        return Ok(());
    }
    let back = store.roll_back(&row, &older)?;
    let known = ExtensionName::new(row.name.as_str());
    forget_failure(&home.state_dir(), &known, &store.approved.run_dir(&known, &back.entry));
    note_moved_files(&back.kept);
    note(&format!("rolled back {name} to the previous version; `haft ext rollback {name}` undoes this"));
    if now.is_some_and(|now| now.waiting.is_some()) {
        note(&format!(
            "its newer version, which waited for your approval, was discarded; `haft ext update {name}` shows it again"
        ));
    }
    if !back.entry.enabled {
        note(&disabled_note(&name));
    }
    print_warnings(&back.warnings);
    Ok(())
}

/// Reports files of an extension that were moved aside.
fn note_moved_files(kept: &[PreservedPath]) {
    for PreservedPath { from, to } in kept {
        let (from, to) = (from.display(), to.display());
        note(&sanitize_line(&format!(
            "this version brings its own {from}; the file that the extension wrote there is now {to}"
        )));
    }
}

fn describe_approval(entry: &LockEntry) -> String {
    format!("{} from {}, approved at {}", entry.tree.short_hex(), entry.source, entry.approved.at)
}

/// Prints lines. Important lines are marked, and red on a terminal.
pub(super) fn print_lines(lines: &[ApprovalLine]) -> anyhow::Result<()> {
    for line in lines {
        let text = sanitize_line(&line.text);
        match line.red {
            false => print(&text)?,
            true => print_marked(&text)?,
        }
    }
    Ok(())
}
