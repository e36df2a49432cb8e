//! The open file of a session: whole lines at its end, or nothing.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_protocol::defence::{Defence, is_up};

use super::disk::{Disk, DiskFile, FileStatus, read_range};

/// The size of one step backwards when the last newline is searched.
const STEP: u64 = 64 * 1024;

/// An open and locked file whose end is the end of a line.
pub(super) struct SessionLog {
    pub(super) file: Arc<LogFile>,
    pub(super) path: PathBuf,
    identity: Option<(u64, u64)>,
    /// Where the next line begins, up to which lines are whole.
    pub(super) end: u64,
    /// The end holds part of a line that could not be cut off.
    ragged: bool,
}

/// The part that was cut off the end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemovedTail {
    pub(super) bytes: u64,
    pub(super) saved: PathBuf,
}

/// Why a line is not in the file.
#[derive(Debug)]
pub(super) enum AppendError {
    /// The system refused. The file is as it was before.
    Io(io::Error),
    /// The file is not the one that was opened, or somebody else has changed it.
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
    /// Makes the file with its first lines. When this fails there is none.
    pub(super) fn create(disk: Arc<dyn Disk>, path: &Path, lines: &[u8]) -> io::Result<Self> {
        let named = make_dir(path.parent().unwrap_or(Path::new(".")))?;
        let file = disk.create(path)?;
        let made = Self::new(disk, file, path, named).and_then(|log| log.with_lines(lines));
        if made.is_err() {
            // Nobody can have read it: it is locked, and nothing in it was acknowledged.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn with_lines(mut self, lines: &[u8]) -> io::Result<Self> {
        self.append(lines)?;
        Ok(self)
    }

    /// Opens a file as it stands. Before it is written its end has to be [mended](Self::repair_tail).
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

    /// Cuts off what is no whole line at the end, after saving it.
    pub(super) fn repair_tail(&mut self) -> io::Result<Option<RemovedTail>> {
        let end = last_newline(self.disk_file().as_ref(), self.end)?;
        if end == self.end || !is_up(Defence::TornTails) {
            return Ok(None);
        }
        let cut = cut_torn_tail(self.disk_file().as_ref(), &self.path, end, self.end)?;
        self.end = end;
        Ok(Some(cut))
    }

    /// Adds whole lines with one write. After an error nothing of them is in the file, or what is cannot be taken for
    /// a line.
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
            return Err(AppendError::Lost("another file took its place"));
        }
        match seen.length == self.end {
            true => Ok(()),
            false => Err(AppendError::Lost("somebody else changed its length")),
        }
    }

    fn undo_append(&mut self) {
        if self.disk_file().truncate(self.end).is_ok() {
            return;
        }
        // It stays, and the next line begins behind it on a line of its own.
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
        read_range(self.disk_file().as_ref(), 0, self.end)
    }
}

impl Drop for SessionLog {
    fn drop(&mut self) {
        // The thread that syncs may still hold the file; whoever wants the session next need not wait for it.
        self.disk_file().unlock();
    }
}

impl fmt::Debug for SessionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("path", &self.path).field("end", &self.end).finish_non_exhaustive()
    }
}

/// The file of a log. The first sync of a file that was made here is that of its name, too, and of the names of directories
/// that were made for it: whoever waits for an entry waits for them, and nobody else does.
pub(super) struct LogFile {
    pub(super) file: Arc<dyn DiskFile>,
    disk: Arc<dyn Disk>,
    /// The directories with a new name in them that is not on the disk yet.
    named: Mutex<Vec<PathBuf>>,
}

impl LogFile {
    /// Waits until everything that was written survives a loss of power.
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

/// Makes a directory and those above it, each for its owner alone. Says which directories have a new name in them as soon
/// as there is a file in this one.
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

/// Behind the last newline; 0 if there is none. Reads the end of the file only.
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

/// Saves what stands behind the last line, then cuts it off.
fn cut_torn_tail(file: &dyn DiskFile, path: &Path, end: u64, length: u64) -> io::Result<RemovedTail> {
    let torn = read_range(file, end, length)?;
    let saved = save_torn_tail(path, &torn)?;
    file.truncate(end)?;
    Ok(RemovedTail { bytes: length - end, saved })
}

/// Writes a torn end beside its file, under the first name that is free: `<id>.torn-1`, …
fn save_torn_tail(path: &Path, torn: &[u8]) -> io::Result<PathBuf> {
    let mut number = 1_u32;
    loop {
        let beside = path.with_extension(format!("torn-{number}"));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&beside) {
            Ok(mut file) => {
                io::Write::write_all(&mut file, torn)?;
                return file.sync_data().map(|()| beside);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// The file that a path means: a link to it is not replaced.
pub(super) fn resolve_link(path: &Path) -> PathBuf {
    let link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let meant = link.then(|| std::fs::canonicalize(path).ok()).flatten();
    meant.unwrap_or_else(|| path.to_owned())
}
