//! `haft ext`: the command line of the extension store.

mod approve;
mod hook;
mod import;
pub(crate) mod list;
pub(crate) mod listing;
mod lock;
pub(crate) mod logs;
pub(crate) mod problem;
pub(crate) mod table;
pub(crate) mod tools;

use std::io::{self, IsTerminal as _};

use anyhow::Context as _;
use haft_config::{Home, TrustDecision, TrustRequest};
use haft_core::sanitize::sanitize_line;
use haft_host::forget_failure;
use haft_packages::ExtensionOrigin;
use haft_packages::discovery::extensions_dir;
use haft_packages::install::lock::{ApprovalStore, InstallOrigin};
use haft_packages::install::{ExtensionStore, InstallError, InstalledExtension, PreservedPath};
use haft_protocol::ids::ExtensionName;

use crate::args::{ExtArgs, ExtCommand, ExtensionScope, ExtensionSelector, ImportSource};
use crate::console::{confirm, note};
use crate::exit::{Exit, OrExit as _};
use list::ProjectStatus;

pub(crate) fn run(args: ExtArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = std::env::current_dir()
        .context("cannot determine the current directory")
        .or_exit(Exit::Extensions)?;
    let decision = TrustDecision::decide(&home, cwd.clone(), TrustRequest::Nothing).or_exit(Exit::Trust)?;
    let TrustDecision { project, distrust_reason: told, .. } = decision;
    let seen = ProjectStatus { cwd: cwd.clone(), trusted: project.is_trusted(), distrust_reason: told };
    // In the user's home directory, the project's directory can be the global one.
    let project = Some(extensions_dir(&project)).filter(|dir| *dir != home.extensions_dir());
    let store = ExtensionStore {
        global: home.extensions_dir(),
        approved: ApprovalStore::at(home.root()),
        project,
        workspace: Some(cwd.clone()),
        path: std::env::var_os("PATH"),
    };
    hook::reject_hook_names(&store, &home, &cwd, &args.command).or_exit(Exit::Extensions)?;
    let outcome = match args.command {
        ExtCommand::List(args) => list::print(&store, &home, &seen, &args),
        ExtCommand::Install { source, yes } => {
            approve::install(&store, &home, &cwd, &source, yes).map_err(with_error_code)
        }
        ExtCommand::Trust { name, yes } => approve::trust(&store, &home, &name, yes).map_err(with_error_code),
        ExtCommand::Update { name, yes } => approve::update(&store, &home, name.as_deref(), yes),
        ExtCommand::Rollback { name, yes } => approve::roll_back(&store, &home, &name, yes),
        ExtCommand::Verify { name, json } => lock::verify(&store, name.as_deref(), json),
        ExtCommand::Lock { json } => lock::print(&store, json),
        ExtCommand::Import { from: ImportSource::Picoclaw, file, yes } => {
            import::import_picoclaw(&home, &file.unwrap_or_default(), yes)
        }
        ExtCommand::Import { from: ImportSource::Zot, yes, file: _ } => {
            import::import_zot(&store, &home, &cwd, yes)
        }
        ExtCommand::Remove { which, yes } => return remove(&store, &home, &which, yes),
        ExtCommand::Enable(which) => set_enabled(&store, &home, &which, true),
        ExtCommand::Disable(which) => set_enabled(&store, &home, &which, false),
        ExtCommand::Logs { name, follow } => logs::print(&store, &home, &name, follow),
    };
    outcome.or_exit(Exit::Extensions).map(|()| Exit::Ok)
}

/// Adds the error code of an installation error, if it has one.
fn with_error_code(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<InstallError>().and_then(InstallError::code) {
        Some(code) => error.context(code),
        None => error,
    }
}

/// Removes the record of a required extension that is not installed, so that haft runs without it. Returns false if
/// the extension is installed or was not recorded.
fn forget_missing(store: &ExtensionStore, which: &ExtensionSelector) -> anyhow::Result<bool> {
    let is_installed = store.list().0.iter().any(|row| row.name.eq_ignore_ascii_case(&which.name));
    if is_installed || !store.approved.forget_required(&which.name)? {
        return Ok(false);
    }
    note(&sanitize_line(&format!("{} is not installed and no longer required", which.name)));
    Ok(true)
}

fn remove(store: &ExtensionStore, home: &Home, which: &ExtensionSelector, yes: bool) -> anyhow::Result<Exit> {
    if forget_missing(store, which).or_exit(Exit::Extensions)? {
        return Ok(Exit::Ok);
    }
    let row = find_extension(store, which).or_exit(Exit::Extensions)?;
    // Installed extensions have a name only; the user never sees their directory.
    let what = match row.entry.as_ref().map(|entry| &entry.source) {
        Some(InstallOrigin::Git { .. } | InstallOrigin::Directory { .. }) => row.name.clone(),
        Some(InstallOrigin::Placed { .. }) | None => row.dir.display().to_string(),
    };
    if !yes && !io::stdin().is_terminal() {
        return Exit::Extensions.fail(format!(
            "cannot ask whether to remove {what}: standard input is not a terminal; use --yes to remove it"
        ));
    }
    if !yes && !confirm(&format!("remove {what}?")).or_exit(Exit::Extensions)? {
        note("nothing was removed");
        return Ok(Exit::Ok);
    }
    let removed = store.remove(&row).or_exit(Exit::Extensions)?;
    note(&sanitize_line(&format!("removed {what}")));
    if let Some(PreservedPath { to, .. }) = &removed.kept {
        note(&sanitize_line(&format!("files that were never approved are kept in {}", to.display())));
    }
    print_warnings(&removed.warnings);
    forget_failure(&home.state_dir(), &ExtensionName::new(&row.name), &row.runs_in);
    let beside = row.entry.is_some_and(|entry| entry.runs_in_copy()).then_some(row.runs_in);
    for data in
        [Some(home.data_dir().join(&row.name)), beside].into_iter().flatten().filter(|dir| dir.exists())
    {
        note(&sanitize_line(&format!("its data stays in {}", data.display())));
    }
    Ok(Exit::Ok)
}

/// Prints warnings.
fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        note(&sanitize_line(&format!("warning: {warning}")));
    }
}

fn set_enabled(
    store: &ExtensionStore,
    home: &Home,
    which: &ExtensionSelector,
    enabled: bool,
) -> anyhow::Result<()> {
    if !enabled && forget_missing(store, which)? {
        return Ok(());
    }
    let row = find_extension(store, which)?;
    let state = if enabled { "enabled" } else { "disabled" };
    let already = if store.set_enabled(&row, enabled)? { "" } else { "already " };
    if enabled {
        forget_failure(&home.state_dir(), &ExtensionName::new(&row.name), &row.runs_in);
    }
    note(&sanitize_line(&format!("{} is {already}{state}", row.name)));
    Ok(())
}

fn find_extension(store: &ExtensionStore, which: &ExtensionSelector) -> anyhow::Result<InstalledExtension> {
    let origin = which.scope.map(|scope| match scope {
        ExtensionScope::Global => ExtensionOrigin::Global,
        ExtensionScope::Project => ExtensionOrigin::Project,
    });
    let row = store.find(&which.name, origin)?;
    // Project files belong to the whole team, so they change only on request.
    anyhow::ensure!(
        row.origin != ExtensionOrigin::Project || origin == Some(ExtensionOrigin::Project),
        "{} belongs to the project (in {}); add --scope project to change it",
        row.name,
        row.dir.display()
    );
    Ok(row)
}
