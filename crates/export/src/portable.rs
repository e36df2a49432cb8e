//! Portable session files: the usual format, without the sender's paths.

mod paths;

use haft_core::session::entry::{EntryBody, MessageEntry, SessionEntry, SessionHeader};
use haft_core::session::{RecoveredSession, SessionError, SessionId};
use haft_protocol::message::{AssistantMessage, Message, Rfc3339Time};

use crate::select::{EntrySelection, NoSuchEntry};
use paths::PathStripper;

/// The directories whose paths are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SenderDirectories {
    /// The sender's home directory, replaced by `~`. The session's working directory is replaced by `.`.
    pub home: Option<String>,
}

/// An error of exporting a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortableError {
    /// The selected entry does not exist.
    #[error(transparent)]
    NoEntry(#[from] NoSuchEntry),
    /// An entry cannot be written as a line.
    #[error(transparent)]
    Unwritable(#[from] SessionError),
}

/// Returns the content of the file. Provider-specific data is removed too, because its content cannot be checked.
///
/// # Errors
/// [`PortableError`] when the selected entry does not exist or an entry cannot be written.
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
        // Entries are written as JSON, which is UTF-8.
        let line = String::from_utf8_lossy(&line);
        file.extend(paths.strip_json(&line).as_bytes());
    }
    Ok(file)
}

fn portable_header(session: &RecoveredSession) -> SessionHeader {
    let RecoveredSession { header, entries, .. } = session;
    let made = || {
        SessionHeader::new(
            SessionId::new(),
            String::new(),
            entries.first().map_or_else(|| Rfc3339Time(String::new()), |entry| entry.time.clone()),
        )
    };
    let mut header = header.clone().unwrap_or_else(made);
    header.cwd = ".".to_owned();
    header
}

fn without_native(entry: &SessionEntry) -> SessionEntry {
    let mut entry = entry.clone();
    if let EntryBody::MessageEntry(MessageEntry {
        message: Message::Assistant(AssistantMessage { native, .. }),
        ..
    }) = &mut entry.body
    {
        *native = None;
    }
    entry
}
