//! `haft session`: all operations on sessions except continuing them.

mod export;
mod find;
mod import;
mod list;
mod show;
mod text;
mod tree;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

use haft_config::Home;
use haft_core::sanitize::sanitize_line;
use haft_core::session::entry::{EntryBody, FORMAT_VERSION, Label, Name, Tags};
use haft_core::session::store::{self, SessionFile, SessionStore};
use haft_core::session::{Durability, Session, SessionError, tag_text};

use crate::args::{CompactArgs, SessionCommand, SessionCommandArgs, SessionSelector};
use crate::console::{confirm, note, print};
use crate::exit::{Exit, OrExit as _};
use crate::setup;

use find::find_entry;

pub(crate) use export::export_to_file;
pub(crate) use find::SessionFinder;
pub(crate) use list::{render_table, session_rows};
pub(crate) use text::{SessionRow, cost_text, explain_error, id_digits, short_id, truncate, usage_text};

/// Runs a subcommand. A compaction is a run, which `compact` starts.
pub(crate) fn run(
    args: SessionCommandArgs,
    compact: impl FnOnce(CompactArgs) -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = setup::working_directory(args.cwd).or_exit(Exit::Usage)?;
    let sessions = SessionFinder::new(&home, &cwd);
    let find = |which: &SessionSelector| sessions.find(&which.id);
    match args.command {
        SessionCommand::List { all, json } => list::run(&sessions, all, json),
        SessionCommand::Show { which, json } => show::run(&find(&which)?, json),
        SessionCommand::Tree(which) => tree::run(&find(&which)?),
        SessionCommand::Fork { which, at } => fork(&find(&which)?, at.as_deref()),
        SessionCommand::Rename { which, name } => rename(&find(&which)?, &name),
        SessionCommand::Label { which, entry, label } => label_entry(&find(&which)?, &entry, label),
        SessionCommand::Tag { which, tags, remove: false } => set_tags(&find(&which)?, &tags),
        SessionCommand::Tag { which, tags, remove: true } => remove_tags(&find(&which)?, &tags),
        SessionCommand::Export(args) => export::run(&find(&args.which)?.path, &args),
        SessionCommand::Import(args) => import::run(&SessionStore::new(home.sessions_dir()), &cwd, &args),
        SessionCommand::Compact(mut args) => {
            args.cwd = Some(cwd);
            return compact(*args);
        }
        SessionCommand::Rm { which, yes } => remove(find(&which)?, yes),
    }
    .map(|()| Exit::Ok)
}

/// Copies a session. Standard output contains only the id of the copy.
fn fork(found: &SessionFile, at: Option<&str>) -> anyhow::Result<()> {
    let read = store::read(&found.path).map_err(|error| explain_error(error, found.id))?;
    if read.header.is_some_and(|header| header.format_version > FORMAT_VERSION) {
        return Err(explain_error(SessionError::ReadOnly { path: found.path.clone() }, found.id));
    }
    let at = at.map(|prefix| find_entry(read.entries.iter().map(|entry| entry.id), prefix)).transpose()?;
    let copy = found.fork(at).map_err(|error| explain_error(error, found.id))?;
    print(&copy.id().to_string())
}

fn rename(found: &SessionFile, name: &str) -> anyhow::Result<()> {
    append(found, Name { name: name.to_owned() })
}

fn label_entry(found: &SessionFile, prefix: &str, label: Option<String>) -> anyhow::Result<()> {
    let read = store::read(&found.path).map_err(|error| explain_error(error, found.id))?;
    let target = find_entry(read.entries.iter().map(|entry| entry.id), prefix)?;
    append(found, Label { target, label })
}

/// Sets tags of a session, each written as a key or as `key=value`.
fn set_tags(found: &SessionFile, written: &[String]) -> anyhow::Result<()> {
    let mut tags = BTreeMap::new();
    for tag in written {
        let (key, value) = tag.split_once('=').unwrap_or((tag, ""));
        if key.is_empty() {
            return Exit::Usage.fail(format!("the tag {tag:?} has no key; write KEY or KEY=VALUE"));
        }
        tags.insert(key.to_owned(), Some(value.to_owned()));
    }
    append(found, Tags::new(tags))
}

/// Removes tags of a session, each named by its key or as the list shows it.
fn remove_tags(found: &SessionFile, named: &[String]) -> anyhow::Result<()> {
    let tags = found.summary().map_err(|error| explain_error(error, found.id))?.tags;
    let is_named =
        |(key, value): &(String, String)| named.contains(key) || named.contains(&tag_text(key, value));
    let tags: BTreeMap<_, _> = tags.into_iter().filter(is_named).map(|(key, _)| (key, None)).collect();
    if tags.is_empty() {
        note("the session has none of these tags");
        return Ok(());
    }
    append(found, Tags::new(tags))
}

fn append(found: &SessionFile, body: impl Into<EntryBody>) -> anyhow::Result<()> {
    add_entry(found, body, note)
}

/// Adds an entry to a session that is not open. Each repair of its file is reported in a line.
pub(crate) fn add_entry(
    found: &SessionFile,
    body: impl Into<EntryBody>,
    tell: impl Fn(&str),
) -> anyhow::Result<()> {
    let explain = |error| explain_error(error, found.id);
    let session = Session::open(&found.path).map_err(explain)?;
    for repair in session.take_repairs() {
        tell(&sanitize_line(&format!("haft: session {}: {repair}", short_id(found.id))));
    }
    let appended = session.append(body, Durability::Now);
    futures::executor::block_on(appended).map(drop).map_err(explain)
}

fn remove(found: SessionFile, yes: bool) -> anyhow::Result<()> {
    let (id, short) = (found.id, short_id(found.id));
    if !yes && !io::stdin().is_terminal() {
        return Exit::Usage.fail(format!("cannot ask whether to delete session {short}: standard input is not a terminal; use --yes to delete it"));
    }
    if !yes && !confirm(&format!("delete session {short} ({}) permanently?", session_title(&found)))? {
        note("nothing was deleted");
        return Ok(());
    }
    found.remove().map_err(|error| explain_error(error, id))?;
    note(&format!("deleted session {short}"));
    Ok(())
}

fn session_title(found: &SessionFile) -> String {
    SessionRow::from_found(found).map(|row| truncate(&row.text, 40)).unwrap_or_default()
}
