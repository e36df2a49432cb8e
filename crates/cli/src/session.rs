//! `haft session`: what can be done with sessions beside going on with one.

mod edit;
mod export;
mod find;
mod import;
mod list;
mod show;
mod text;
mod tree;

use haft_config::Home;
use haft_core::session::store::Store;

use crate::args::{CompactArgs, SessionCommand, SessionCommands, WhichSession};
use crate::exit::{Exit, OrExit as _};
use crate::setup;

pub(crate) use edit::add;
pub(crate) use export::into_file;
pub(crate) use find::Sessions;
pub(crate) use list::{rows, table};
pub(crate) use text::{Row, age, cost, cut, digits, explained, short, spent};

/// Runs one of the subcommands. A compaction is a run, which `compact` does.
pub(crate) fn run(
    args: SessionCommands,
    compact: impl FnOnce(CompactArgs) -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = setup::cwd(args.cwd).or_exit(Exit::Usage)?;
    let sessions = Sessions::new(&home, &cwd);
    let find = |which: &WhichSession| sessions.find(&which.id);
    match args.command {
        SessionCommand::List { all, json } => list::run(&sessions, all, json),
        SessionCommand::Show { which, json } => show::run(&find(&which)?, json),
        SessionCommand::Tree(which) => tree::run(&find(&which)?),
        SessionCommand::Fork { which, at } => edit::fork(&find(&which)?, at.as_deref()),
        SessionCommand::Rename { which, name } => edit::rename(&find(&which)?, &name),
        SessionCommand::Label { which, entry, label } => edit::label(&find(&which)?, &entry, label),
        SessionCommand::Tag { which, tags, remove } => edit::tag(&find(&which)?, &tags, remove),
        SessionCommand::Export(args) => export::run(&find(&args.which)?.path, &args),
        SessionCommand::Import(args) => import::run(&Store::new(home.sessions_dir()), &cwd, &args),
        SessionCommand::Compact(mut args) => {
            args.cwd = Some(cwd);
            return compact(*args);
        }
        SessionCommand::Rm { which, yes } => edit::remove(find(&which)?, yes),
    }
    .map(|()| Exit::Ok)
}
