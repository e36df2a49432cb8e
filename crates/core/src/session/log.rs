//! The open file of a session, to which only whole lines are appended.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_protocol::defense::{Defense, is_up};

use super::disk::{Disk, DiskFile, FileStatus, read_lines, read_range};

/// The number of bytes per step of the backward search for a newline.
const STEP: u64 = 64 * 1024;

/// An open and locked file that ends with a whole line.
pub(super) struct SessionLog {
    pub(super) file: Arc<LogFile>,
    pub(super) path: PathBuf,
    identity: Option<(u64, u64)>,
    /// The offset of the next line, after the last whole line.
    pub(super) end: u64,
    /// True if the file ends with a partial line that could not be cut off.
    ragged: bool,
}

/// The part that was cut off the end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemovedTail {
    pub(super) bytes: u64,
    pub(super) saved: PathBuf,
}

/// The reasons why a line was not written.
#[derive(Debug)]
pub(super) enum AppendError {
    /// A system call failed. The file is unchanged.
    Io(io::Error),
    /// The path refers to another file, or another program changed the file.
    Lost(&'static str),
}

impl From<AppendError> for io::Error {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Io(error) => error,
            AppendError::Lost(reason) => Self::other(reason),
        }
    }
}

impl SessionLog {
    /// Creates the file with its first lines. After an error there is no file.
    pub(super) fn create(disk: Arc<dyn Disk>, path: &Path, lines: &[u8]) -> io::Result<Self> {
        let named = make_dir(path.parent().unwrap_or(Path::new(".")))?;
        let file = disk.create(path)?;
        let made = Self::new(disk, file, path, named).and_then(|log| log.with_lines(lines));
        if made.is_err() {
            // No other process has read the file, because it is locked, and nothing in it was acknowledged.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn with_lines(mut self, lines: &[u8]) -> io::Result<Self> {
        self.append(lines)?;
        Ok(self)
    }

    /// Opens a file. Before the first write, [`repair_tail`](Self::repair_tail) must be called.
    pub(super) fn open(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Self> {
        let file = disk.open(path)?;
        Self::new(disk, file, path, Vec::new())
    }

    fn new(
        disk: Arc<dyn Disk>,
        file: Arc<dyn DiskFile>,
        path: &Path,
        named: Vec<PathBuf>,
    ) -> io::Result<Self> {
        let FileStatus { identity, length } = file.file_status()?;
        let file = Arc::new(LogFile { file, disk, named: Mutex::new(named) });
        Ok(Self { file, path: path.to_owned(), identity, end: length, ragged: false })
    }

    /// Cuts off an incomplete last line after saving it.
    pub(super) fn repair_tail(&mut self) -> io::Result<Option<RemovedTail>> {
        let end = last_newline(self.disk_file().as_ref(), self.end)?;
        if end == self.end || !is_up(Defense::TornTails) {
            return Ok(None);
        }
        let cut = cut_torn_tail(self.disk_file().as_ref(), &self.path, end, self.end)?;
        self.end = end;
        Ok(Some(cut))
    }

    /// Appends whole lines with one write. After an error the file contains no part of them, or a part that is not a
    /// valid line.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), AppendError> {
        self.check()?;
        let ragged = self.ragged.then(|| [b"\n", lines].concat());
        let bytes = ragged.as_deref().unwrap_or(lines);
        let outcome = match self.disk_file().write(bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(written) => {
                let what = format!("only {written} of {} bytes were written", bytes.len());
                Err(io::Error::new(io::ErrorKind::StorageFull, what))
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => {
                self.end += bytes.len() as u64;
                self.ragged = false;
                Ok(())
            }
            Err(error) => {
                self.undo_append();
                Err(AppendError::Io(error))
            }
        }
    }

    fn check(&self) -> Result<(), AppendError> {
        let seen = match self.file.disk.file_status(&self.path) {
            Ok(seen) => seen,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(AppendError::Lost("the file was deleted or renamed"));
            }
            Err(error) => return Err(AppendError::Io(error)),
        };
        if seen.identity != self.identity {
            return Err(AppendError::Lost("another file replaced it"));
        }
        match seen.length == self.end {
            true => Ok(()),
            false => Err(AppendError::Lost("another program changed its length")),
        }
    }

    fn undo_append(&mut self) {
        if self.disk_file().truncate(self.end).is_ok() {
            return;
        }
        // The partial line stays, and the next line begins after it on its own line.
        if let Ok(FileStatus { length, .. }) = self.disk_file().file_status() {
            self.ragged |= length > self.end;
            self.end = length;
        }
    }

    pub(super) fn rename(&mut self, to: &Path) -> io::Result<()> {
        self.file.disk.rename(&self.path, to)?;
        self.path = to.to_owned();
        Ok(())
    }

    pub(super) fn disk_file(&self) -> &Arc<dyn DiskFile> {
        &self.file.file
    }

    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        read_lines(self.disk_file().as_ref(), self.end).map(|(lines, _)| lines)
    }
}

impl Drop for SessionLog {
    fn drop(&mut self) {
        // The sync thread may still hold the file, but another session can use it at once.
        self.disk_file().unlock();
    }
}

impl fmt::Debug for SessionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("path", &self.path).field("end", &self.end).finish_non_exhaustive()
    }
}

/// The file of a log. The first sync of a new file also syncs its name and the names of new directories. Only callers
/// that wait for an entry wait for them.
pub(super) struct LogFile {
    pub(super) file: Arc<dyn DiskFile>,
    disk: Arc<dyn Disk>,
    /// The directories with new names that are not yet on disk.
    named: Mutex<Vec<PathBuf>>,
}

impl LogFile {
    /// Makes everything that was written durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync()?;
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(dir) = named.last() {
            self.disk.sync_dir(dir)?;
            named.pop();
        }
        Ok(())
    }
}

/// Creates a directory and its parents, accessible only to their owner. Returns the directories that will have a new
/// name when this directory contains a file.
fn make_dir(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let made = dir.ancestors().take_while(|dir| !dir.exists()).filter_map(Path::parent);
    let named = |dir: &Path| if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir.to_owned() };
    let named = std::iter::once(dir).chain(made).map(named).collect();
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)?;
    Ok(named)
}

/// Returns the offset after the last newline; 0 without one. Reads only the end of the file.
pub(super) fn last_newline(file: &dyn DiskFile, length: u64) -> io::Result<u64> {
    let mut to = length;
    while to > 0 {
        let from = to.saturating_sub(STEP);
        let bytes = read_range(file, from, to)?;
        if let Some(at) = memchr::memrchr(b'\n', &bytes) {
            return Ok(from + at as u64 + 1);
        }
        to = from;
    }
    Ok(0)
}

/// Saves the bytes after the last line, then cuts them off.
fn cut_torn_tail(file: &dyn DiskFile, path: &Path, end: u64, length: u64) -> io::Result<RemovedTail> {
    let saved = save_torn_tail(path, file, end, length)?;
    file.truncate(end)?;
    Ok(RemovedTail { bytes: length - end, saved })
}

/// Writes an incomplete last line to a file beside the session, under the first free name: `<id>.torn-1`, …
fn save_torn_tail(path: &Path, file: &dyn DiskFile, from: u64, to: u64) -> io::Result<PathBuf> {
    let mut number = 1_u32;
    loop {
        let beside = path.with_extension(format!("torn-{number}"));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&beside) {
            Ok(mut torn) => {
                let mut from = from;
                while from < to {
                    let step = read_range(file, from, to.min(from + STEP))?;
                    if step.is_empty() {
                        break;
                    }
                    io::Write::write_all(&mut torn, &step)?;
                    from += step.len() as u64;
                }
                return torn.sync_data().map(|()| beside);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Returns the target of a path, so that a link is not replaced.
pub(super) fn resolve_link(path: &Path) -> PathBuf {
    let link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let meant = link.then(|| std::fs::canonicalize(path).ok()).flatten();
    meant.unwrap_or_else(|| path.to_owned())
}
