//! `haft session`: what can be done with sessions beside going on with one.

mod export;
mod import;

use std::path::PathBuf;

use anyhow::Context as _;
use haft_config::Home;
use haft_core::session::store::Store;

use crate::args::{SessionCommand, SessionCommands};
use crate::exit::{Exit, OrExit as _};

/// Runs one of the subcommands.
pub(crate) fn run(args: SessionCommands) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = std::env::current_dir().context("cannot tell the current directory")?;
    let store = Store::new(home.sessions_dir());
    let find = |name: &str| -> anyhow::Result<PathBuf> {
        if name == "last" {
            let latest = store.latest(&cwd)?;
            return Ok(latest.context("this directory has no session yet")?.path);
        }
        match name.contains(['/', '\\', '.']) {
            true => Ok(PathBuf::from(name)),
            false => Ok(store.find(name)?.path),
        }
    };
    match args.command {
        SessionCommand::Export(args) => export::run(&find(&args.which.id)?, &args),
        SessionCommand::Import(args) => import::run(&store, &cwd, &args),
    }
    .map(|()| Exit::Ok)
}
