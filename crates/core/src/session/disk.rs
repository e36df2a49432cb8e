//! The system calls that a session uses, behind a trait so that tests can make each of them fail.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use haft_protocol::defense::{Defense, is_up};

use crate::limits::MAX_SESSION_LINE;

/// File system operations by path.
pub(super) trait Disk: Send + Sync {
    /// Creates and locks a new file that only its owner can access; fails if the file exists.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens and locks a file; fails with [`io::ErrorKind::WouldBlock`] if it is locked.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Returns the status of a path without following links.
    fn file_status(&self, path: &Path) -> io::Result<FileStatus>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    fn start_thread(&self, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        std::thread::Builder::new().name("haft-session".to_owned()).spawn(work).map(drop)
    }
}

/// An open file that is written at its end.
pub(super) trait DiskFile: Send + Sync {
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Makes everything that was written durable.
    fn sync(&self) -> io::Result<()>;

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the status of the open file, even if its path now refers to another file.
    fn file_status(&self) -> io::Result<FileStatus>;

    /// Unlocks the file.
    fn unlock(&self);
}

/// The identity and the length of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStatus {
    /// Device and inode, on systems that have them.
    pub(super) identity: Option<(u64, u64)>,
    pub(super) length: u64,
}

/// The real file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        lock_file(options.open(path)?)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        lock_file(OpenOptions::new().read(true).append(true).open(path)?)
    }

    fn file_status(&self, path: &Path) -> io::Result<FileStatus> {
        std::fs::symlink_metadata(path).map(|found| status_from(&found))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    #[cfg(unix)]
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    /// Windows writes the names with the file.
    #[cfg(not(unix))]
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

fn lock_file(file: File) -> io::Result<Arc<dyn DiskFile>> {
    match file.try_lock() {
        Ok(()) => Ok(Arc::new(file)),
        Err(TryLockError::WouldBlock) if !is_up(Defense::SessionLock) => Ok(Arc::new(file)),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(unix)]
fn status_from(found: &std::fs::Metadata) -> FileStatus {
    use std::os::unix::fs::MetadataExt;
    FileStatus { identity: Some((found.dev(), found.ino())), length: found.len() }
}

#[cfg(not(unix))]
fn status_from(found: &std::fs::Metadata) -> FileStatus {
    FileStatus { identity: None, length: found.len() }
}

impl DiskFile for File {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match io::Write::write(&mut &*self, bytes) {
                // Nothing was written yet, so the write is retried.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    fn file_status(&self) -> io::Result<FileStatus> {
        self.metadata().map(|found| status_from(&found))
    }

    fn unlock(&self) {
        // The system also unlocks the file when it is closed.
        let _ = Self::unlock(self);
    }
}

/// Reads the lines of a file up to `end`. A line of more than [`MAX_SESSION_LINE`] bytes becomes an empty line. Returns
/// the number of bytes read too, which is smaller than `end` if the file is shorter.
pub(super) fn read_lines(file: &dyn DiskFile, end: u64) -> io::Result<(Vec<u8>, u64)> {
    let (mut lines, mut begin, mut from) = (Vec::new(), 0, 0);
    while from < end {
        let chunk = read_range(file, from, end.min(from + READ_STEP))?;
        if chunk.is_empty() {
            break;
        }
        from += chunk.len() as u64;
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            // One byte more than the limit marks a line that is too long.
            let room = (MAX_SESSION_LINE + 1).saturating_sub(lines.len() - begin);
            lines.extend_from_slice(part.get(..room).unwrap_or(part));
            if part.ends_with(b"\n") {
                if lines.len() - begin > MAX_SESSION_LINE {
                    lines.truncate(begin);
                    lines.push(b'\n');
                }
                begin = lines.len();
            }
        }
    }
    Ok((lines, from))
}

/// The number of bytes per read of whole files.
const READ_STEP: u64 = 256 * 1024;

/// Reads the lines of the file at a path as [`read_lines`] does.
pub(super) fn read_file_lines(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let end = file.metadata()?.len();
    read_lines(&file, end).map(|(lines, _)| lines)
}

/// Reads a range of the file; returns less at the end of the file.
pub(super) fn read_range(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from)).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, from + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
