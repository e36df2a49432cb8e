//! The file of a session, to be read without its lock: it only grows.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::disk::{DiskFile, read_range};
use super::entry::{Entry, Header};
use super::error::SessionError;
use super::id::EntryId;
use super::recover::{Recovered, recover};
use super::tree::Tree;

/// A session's file, as far as it was written.
pub(super) struct Source {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) end: u64,
    pub(super) path: PathBuf,
    /// Everything that is in the file is in memory, too.
    pub(super) known: bool,
}

impl Source {
    /// A header, the lines of the file as they stand, and those of the entries in memory that are not among them. Says
    /// which entries that are.
    pub(super) fn lines(
        &self,
        header: &Header,
        entries: &[Arc<Entry>],
    ) -> Result<(Vec<u8>, HashSet<EntryId>), SessionError> {
        let old = match self.read() {
            Ok(old) => old,
            // What is there all the same: lines that this build does not know stay as they are.
            Err(_) if self.known => read_range(self.file.as_ref(), 0, self.end).unwrap_or_default(),
            Err(error) => return Err(SessionError::io("read", &self.path, error)),
        };
        everything(header, &old, entries.iter().cloned().collect())
    }

    /// The file; an error if somebody else took some of it away.
    fn read(&self) -> io::Result<Vec<u8>> {
        let bytes = read_range(self.file.as_ref(), 0, self.end)?;
        match bytes.len() as u64 == self.end {
            true => Ok(bytes),
            false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter")),
        }
    }
}

fn everything(header: &Header, old: &[u8], tree: Tree) -> Result<(Vec<u8>, HashSet<EntryId>), SessionError> {
    let Recovered { header: old_header, entries, whole, .. } = recover(old);
    let mut lines = header.to_line()?;
    let from = match old_header {
        Some(_) => memchr::memchr(b'\n', old).map_or(0, |at| at + 1),
        None => 0,
    };
    lines.extend_from_slice(old.get(from..whole).unwrap_or_default());
    let mut there: HashSet<EntryId> = entries.iter().map(|entry| entry.id).collect();
    for entry in tree.parents_first().filter(|entry| !there.contains(&entry.id)) {
        lines.extend(entry.to_line()?);
    }
    there.extend(tree.all().iter().map(|entry| entry.id));
    Ok((lines, there))
}
