//! `haft ext`: a thin shell around the host's store of extensions.

pub(crate) mod list;
pub(crate) mod logs;

use std::io::{self, IsTerminal as _};
use std::path::Path;

use anyhow::Context as _;
use haft_config::Home;
use haft_core::sanitize::sanitize_line;
use haft_host::discovery::extensions_dir;
use haft_host::install::{Existing, Row, Source, Store};
use haft_host::{Origin, forget_failure};
use haft_protocol::ids::ExtensionName;

use crate::args::{ExtArgs, ExtCommand, Scope, TrustProject, Which};
use crate::ask::confirmed;
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::setup;

/// Runs one of the subcommands.
pub(crate) fn run(args: ExtArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd =
        std::env::current_dir().context("cannot tell the current directory").or_exit(Exit::Extensions)?;
    let project = setup::project(&home, cwd.clone(), &TrustProject::default())?;
    let trusted = project.is_trusted();
    // In the user's own home directory the project's place can be the global one.
    let project = Some(extensions_dir(&project)).filter(|dir| *dir != home.extensions_dir());
    let store = Store { global: home.extensions_dir(), project, path: std::env::var_os("PATH") };
    let outcome = match args.command {
        ExtCommand::List => list::print(store.list(), &home, trusted),
        ExtCommand::Install { source, force } => install(&store, &cwd, &source, force),
        ExtCommand::Remove { which, yes } => return remove(&store, &home, &which, yes),
        ExtCommand::Enable(which) => switch(&store, &which, true),
        ExtCommand::Disable(which) => switch(&store, &which, false),
        ExtCommand::Logs { name, follow } => logs::print(&store, &home, &name, follow),
    };
    outcome.or_exit(Exit::Extensions).map(|()| Exit::Ok)
}

fn install(store: &Store, cwd: &Path, source: &str, force: bool) -> anyhow::Result<()> {
    let source = Source::parse(source, cwd)?;
    if let Source::Git(url) = &source {
        note(&sanitize_line(&format!("cloning {url}")));
    }
    let existing = if force { Existing::Replace } else { Existing::Keep };
    let installed = store.install(&source, existing)?;
    let verb = if installed.replaced { "updated" } else { "installed" };
    let name = &installed.manifest.name;
    note(&sanitize_line(&format!("{verb} {name} in {}", installed.dir.display())));
    if let Some(exec) = &installed.manifest.exec {
        let words = [&exec.program].into_iter().chain(&exec.args);
        let words: Vec<_> = words.map(|word| sanitize_line(word)).collect();
        note(&format!("it will run: {}", words.join(" ")));
    }
    if let Some(problem) = &installed.problem {
        note(&sanitize_line(&format!("it cannot run yet: {problem}")));
    }
    if !installed.manifest.enabled {
        note(&format!("it is disabled; `haft ext enable {name}` lets it run"));
    }
    Ok(())
}

fn remove(store: &Store, home: &Home, which: &Which, yes: bool) -> anyhow::Result<Exit> {
    let row = find(store, which).or_exit(Exit::Extensions)?;
    if !yes && !io::stdin().is_terminal() {
        return Err(anyhow::anyhow!("nobody to ask whether to remove {}; use --yes", row.dir.display()))
            .or_exit(Exit::Extensions);
    }
    if !yes && !confirmed(&format!("remove {} ?", row.dir.display())).or_exit(Exit::Extensions)? {
        note("nothing removed");
        return Ok(Exit::Ok);
    }
    store.remove(&row).or_exit(Exit::Extensions)?;
    note(&sanitize_line(&format!("removed {}", row.dir.display())));
    forget_failure(&home.state_dir(), &ExtensionName::new(&row.name), &row.dir);
    let data = home.data_dir().join(&row.name);
    if data.exists() {
        note(&format!("its data is still in {}", data.display()));
    }
    Ok(Exit::Ok)
}

fn switch(store: &Store, which: &Which, enabled: bool) -> anyhow::Result<()> {
    let row = find(store, which)?;
    let state = if enabled { "enabled" } else { "disabled" };
    let already = if store.set_enabled(&row, enabled)? { "" } else { "already " };
    note(&sanitize_line(&format!("{} is {already}{state}", row.name)));
    Ok(())
}

fn find(store: &Store, which: &Which) -> anyhow::Result<Row> {
    let origin = which.scope.map(|scope| match scope {
        Scope::Global => Origin::Global,
        Scope::Project => Origin::Project,
    });
    let row = store.find(&which.name, origin)?;
    // Files of a repository are not changed unasked: they are other people's as well.
    anyhow::ensure!(
        row.origin != Origin::Project || origin == Some(Origin::Project),
        "{} belongs to the project, in {}; add --scope project to change it there",
        row.name,
        row.dir.display()
    );
    Ok(row)
}
