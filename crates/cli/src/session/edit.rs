//! What changes a session: its name, its tags, marks on its entries, copies, and its end.

use std::io::{self, IsTerminal as _};

use haft_core::sanitize::sanitize_line;
use haft_core::session::entry::{EntryBody, FORMAT_VERSION, Label, Name, Tags};
use haft_core::session::store::{self, Found};
use haft_core::session::{Durability, Session, SessionError};

use super::find::entry;
use super::text::{explained, short};
use crate::ask::confirmed;
use crate::console::{note, print};
use crate::exit::{Exit, OrExit as _};

/// Prints the id of the copy, and nothing else on standard output.
pub(super) fn fork(found: &Found, at: Option<&str>) -> anyhow::Result<()> {
    let read = store::read(&found.path).map_err(|error| explained(error, found.id))?;
    if read.header.is_some_and(|header| header.format_version > FORMAT_VERSION) {
        return Err(explained(SessionError::ReadOnly { path: found.path.clone() }, found.id));
    }
    let at = at.map(|prefix| entry(read.entries.iter().map(|entry| entry.id), prefix)).transpose()?;
    let copy = found.fork(at).map_err(|error| explained(error, found.id))?;
    print(&copy.id().to_string())
}

pub(super) fn rename(found: &Found, name: &str) -> anyhow::Result<()> {
    append(found, Name { name: name.to_owned() })
}

pub(super) fn label(found: &Found, prefix: &str, label: Option<String>) -> anyhow::Result<()> {
    let read = store::read(&found.path).map_err(|error| explained(error, found.id))?;
    let target = entry(read.entries.iter().map(|entry| entry.id), prefix)?;
    append(found, Label { target, label })
}

/// Adds words to those that the session has, or takes some away.
pub(super) fn tag(found: &Found, changed: &[String], remove: bool) -> anyhow::Result<()> {
    let mut tags = found.summary().map_err(|error| explained(error, found.id))?.tags;
    tags.retain(|tag| !changed.contains(tag));
    if !remove {
        tags.extend(changed.iter().cloned());
    }
    append(found, Tags { tags })
}

fn append(found: &Found, body: impl Into<EntryBody>) -> anyhow::Result<()> {
    add(found, body, note)
}

/// Adds an entry to a session that is not open; what had to be mended of it is told, as one line each.
pub(crate) fn add(found: &Found, body: impl Into<EntryBody>, tell: impl Fn(&str)) -> anyhow::Result<()> {
    let explain = |error| explained(error, found.id);
    let session = Session::open(&found.path).map_err(explain)?;
    for repair in session.take_repairs() {
        tell(&sanitize_line(&format!("haft: session {}: {repair}", short(found.id))));
    }
    let appended = session.append(body, Durability::Now);
    futures::executor::block_on(appended).map(drop).map_err(explain)
}

pub(super) fn remove(found: Found, yes: bool) -> anyhow::Result<()> {
    let (id, short) = (found.id, short(found.id));
    if !yes && !io::stdin().is_terminal() {
        return Err(anyhow::anyhow!("nobody to ask whether to delete session {short}; use --yes"))
            .or_exit(Exit::Usage);
    }
    if !yes && !confirmed(&format!("delete session {short} ({}) for good?", told(&found)))? {
        note("nothing deleted");
        return Ok(());
    }
    found.remove().map_err(|error| explained(error, id))?;
    note(&format!("deleted session {short}"));
    Ok(())
}

fn told(found: &Found) -> String {
    super::text::Row::of(found).map(|row| super::text::cut(&row.text, 40)).unwrap_or_default()
}
