//! `haft ext list`: the extensions, their states and their problems.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_config::{ConfigError, Grant, Home, ParsedConfigFile, SandboxLevel};
use haft_core::sanitize::sanitize_line;
use haft_host::{LastFailure, last_failure, last_failure_of_hook, starts_slowly};
use haft_launch::sandbox::ConfinementLevel;
use haft_packages::ExtensionOrigin;
use haft_packages::install::lock::LockEntry;
use haft_packages::install::{ExtensionStore, InstallStatus, InstalledExtension, check_approved};
use haft_protocol::ids::ExtensionName;

use super::hook::{self, HookListDetails};
use super::listing::ListedExtension;
use super::problem::{ExtensionProblem, reapproval_step};
use super::{listing, table};
use crate::args::ListArgs;
use crate::console::{
    list_width, note, prefixed_rows as rows_of, print as show, terminal_width as width_of_terminal, write,
};
use crate::exit::Exit;
use crate::extensions::unmatched_grants;

/// The project whose extensions are listed with the user's.
#[derive(Debug)]
pub(super) struct ProjectStatus {
    pub(super) cwd: PathBuf,
    pub(super) trusted: bool,
    /// The reason why the project is no longer trusted.
    pub(super) distrust_reason: Option<String>,
}

pub(super) fn print(
    store: &ExtensionStore,
    home: &Home,
    seen: &ProjectStatus,
    args: &ListArgs,
) -> anyhow::Result<()> {
    let (rows, error) = store.list();
    seen.distrust_reason.iter().for_each(|told| print_note(&format!("haft: {told}")));
    let (hooks, mistakes) = hook::list_hooks(home, &seen.cwd, seen.trusted);
    // The settings of an untrusted project are not used, so their mistakes do not matter.
    let counts = |mistake: &ConfigError| seen.trusted || mistake.path() == home.config_file();
    let mistakes: Vec<_> =
        mistakes.iter().filter(|mistake| counts(mistake)).map(ToString::to_string).collect();
    let is_all = error.is_none() && mistakes.is_empty();
    print_rows(store, home, seen, args, (rows, hooks), is_all)?;
    // Without the lock file, the list shows no approvals.
    error.map_or(Ok(()), Err)?;
    match mistakes.is_empty() {
        true => Ok(()),
        false => Exit::Configuration.fail(mistakes.join("\n")),
    }
}

fn print_rows(
    store: &ExtensionStore,
    home: &Home,
    seen: &ProjectStatus,
    args: &ListArgs,
    (rows, hooks): (Vec<InstalledExtension>, Vec<(InstalledExtension, HookListDetails)>),
    is_all: bool,
) -> anyhow::Result<()> {
    // The mistakes that are reported later include the one of this file.
    let grants = ParsedConfigFile::load(&home.config_file()).map(|file| file.content.grant).ok();
    let state = home.state_dir();
    let look = |(row, hook)| inspect_extension(store, row, hook, &state, seen.trusted, grants.as_ref());
    let hooks = hooks.into_iter().map(|(row, hook)| (row, Some(hook)));
    let rows = rows.into_iter().map(|row| (row, None)).chain(hooks);
    let mut listed: Vec<ListedExtension> = rows.map(look).collect();
    mark_shadowed(&mut listed);
    let now = SystemTime::now();
    if args.json {
        let lines: String = listed.iter().map(|listed| listing::json_line(listed, now)).collect();
        return write(lines.as_bytes());
    }
    if listed.is_empty() && !is_all {
        return Ok(());
    }
    if listed.is_empty() {
        note("no extensions installed; `haft ext install DIR` installs one");
        return Ok(());
    }
    match args.long {
        true => show(&listing::long_text(&listed))?,
        false => {
            let places = table::PathShortener { cwd: seen.cwd.clone(), home: std::env::home_dir() };
            show(&table::render_table(&listed, &places, list_width()))?;
        }
    }
    // One line covers all extensions of an untrusted project.
    let each = listed.iter().filter(|listed| !listed.is_untrusted());
    each.flat_map(|listed| problem_lines(listed, now)).for_each(|text| print_note(&text));
    print_further_notes(&listed, grants.as_ref(), seen);
    Ok(())
}

/// Returns the problems of an extension, each as a sanitized line.
pub(crate) fn problem_lines(listed: &ListedExtension, now: SystemTime) -> Vec<String> {
    let line =
        |problem: ExtensionProblem| sanitize_line(&format!("{}: {}", listed.row.name, problem.sentence()));
    listed.problems(now).into_iter().map(line).collect()
}

fn print_further_notes(
    listed: &[ListedExtension],
    grants: Option<&BTreeMap<String, Grant>>,
    seen: &ProjectStatus,
) {
    let names = listed.iter().map(|listed| listed.row.name.as_str()).collect();
    let granted = grants.into_iter().flat_map(BTreeMap::keys).map(String::as_str);
    unmatched_grants(granted, &names).iter().for_each(|(text, _)| print_note(text));
    if listed.iter().any(ListedExtension::is_untrusted) && seen.distrust_reason.is_none() {
        print_note(
            "the project is not trusted, so its extensions do not run; run `haft trust` to review and trust it",
        );
    }
}

fn print_note(text: &str) {
    note(&rows_of("", "  ", &sanitize_line(text), width_of_terminal()));
}

/// Inspects an extension. The last failure is `None` if the extension cannot run now.
fn inspect_extension(
    store: &ExtensionStore,
    mut row: InstalledExtension,
    hook: Option<HookListDetails>,
    state: &Path,
    trusted: bool,
    grants: Option<&BTreeMap<String, Grant>>,
) -> ListedExtension {
    if let Some(changed) = pin_mismatch(store, &row) {
        row.state = InstallStatus::Changed(changed);
    }
    let name = ExtensionName::new(&row.name);
    let (failure, is_slow) = match &row.state {
        InstallStatus::Enabled => {
            let failure = match hook.as_ref().and_then(|hook| hook.spec.as_ref()) {
                Some(spec) => last_failure_of_hook(state, spec),
                None => last_failure(state, &name, &row.runs_in),
            };
            (
                failure.filter(|failure| is_current_failure(failure, row.entry.as_ref())),
                starts_slowly(state, &name, &row.runs_in),
            )
        }
        InstallStatus::Disabled
        | InstallStatus::NotApproved
        | InstallStatus::Changed(_)
        | InstallStatus::Broken(_) => (None, false),
    };
    let loosened = hook.as_ref().map(|hook| hook.relaxation.clone()).unwrap_or_default();
    let loosened = loosened.with_grant(grants.and_then(|grants| grants.get(&row.name)));
    let own = row.level.map_or(SandboxLevel::None, sandbox_level);
    let sandbox = grants.map(|grants| grants.get(&row.name).and_then(|grant| grant.sandbox).unwrap_or(own));
    ListedExtension { row, failure, is_slow, trusted, sandbox, relaxation: loosened, shadowed_by: None, hook }
}

fn pin_mismatch(store: &ExtensionStore, row: &InstalledExtension) -> Option<String> {
    let entry = row.entry.as_ref().filter(|_| row.state == InstallStatus::Enabled)?;
    let wrong = check_approved(&store.approved, entry);
    let (next, does) = reapproval_step(&row.name, Some(entry));
    (!wrong.is_empty()).then(|| format!("{}; `{next}` {does}", wrong.join("; ")))
}

/// True if a failure still applies: a pin mismatch ends when the files match again.
pub(crate) fn is_current_failure(failure: &LastFailure, entry: Option<&LockEntry>) -> bool {
    entry.is_none() || failure.code != "pin_mismatch"
}

/// Marks extensions of the project that have the name of a user's extension; they do not run.
fn mark_shadowed(listed: &mut [ListedExtension]) {
    let own = listed.iter().filter(|listed| listed.row.origin != ExtensionOrigin::Project);
    let own: BTreeMap<String, PathBuf> =
        own.map(|listed| (listed.row.name.to_ascii_lowercase(), listed.row.dir.clone())).collect();
    for listed in listed.iter_mut().filter(|listed| listed.row.origin == ExtensionOrigin::Project) {
        listed.shadowed_by = own.get(&listed.row.name.to_ascii_lowercase()).cloned();
    }
}

fn sandbox_level(level: ConfinementLevel) -> SandboxLevel {
    match level {
        // Only the tools run at this level.
        ConfinementLevel::Standard | ConfinementLevel::Isolated => SandboxLevel::Standard,
        ConfinementLevel::Strict => SandboxLevel::Strict,
    }
}
