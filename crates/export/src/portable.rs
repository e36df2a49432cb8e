//! A session as a file for others: the format of session files, without the sender's paths.

mod paths;

use haft_core::session::entry::{EntryBody, FORMAT_VERSION, Said, SessionEntry, SessionHeader};
use haft_core::session::{RecoveredSession, SessionError, SessionId};
use haft_protocol::message::{AssistantMessage, Message, Rfc3339Time};

use crate::select::{EntrySelection, NoSuchEntry};
use paths::PathStripper;

/// The directories of the sender, whose paths are taken out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SenderDirectories {
    /// The sender's home directory, which becomes `~`. The directory that the session is about becomes `.`.
    pub home: Option<String>,
}

/// Why a session is not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortableError {
    /// The chosen entry is not there.
    #[error(transparent)]
    NoEntry(#[from] NoSuchEntry),
    /// An entry has no form on disk.
    #[error(transparent)]
    Unwritable(#[from] SessionError),
}

/// The file. What only the provider could read again is left out with the paths: nobody can say what is in it.
///
/// # Errors
/// [`PortableError`].
pub fn export_portable(
    session: &RecoveredSession,
    selection: &EntrySelection,
    places: &SenderDirectories,
) -> Result<Vec<u8>, PortableError> {
    let cwd = session.header.as_ref().map(|header| header.cwd.as_str()).unwrap_or_default();
    let paths = PathStripper::new(cwd, places.home.as_deref());
    let entries = selection.entries(&session.entries)?;
    let mut file = portable_header(session).to_line()?;
    for entry in entries {
        let line = without_native(entry).to_line()?;
        // What an entry writes is JSON, which is UTF-8.
        let line = String::from_utf8_lossy(&line);
        file.extend(paths.strip_json(&line).as_bytes());
    }
    Ok(file)
}

fn portable_header(session: &RecoveredSession) -> SessionHeader {
    let RecoveredSession { header, entries, .. } = session;
    let made = || SessionHeader {
        id: SessionId::new(),
        format_version: FORMAT_VERSION,
        cwd: String::new(),
        created: entries.first().map_or_else(|| Rfc3339Time(String::new()), |entry| entry.time.clone()),
        forked_from: None,
    };
    SessionHeader { cwd: ".".to_owned(), ..header.clone().unwrap_or_else(made) }
}

fn without_native(entry: &SessionEntry) -> SessionEntry {
    let mut entry = entry.clone();
    if let EntryBody::Said(Said { message: Message::Assistant(AssistantMessage { native, .. }), .. }) =
        &mut entry.body
    {
        *native = None;
    }
    entry
}
