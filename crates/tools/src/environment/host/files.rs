//! Reads files and directories. Everything here blocks.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::atomic::{PathBoundary, open_within};
use super::kind::{kind, require_regular_file};
use crate::environment::{DirectoryEntry, EnvironmentError, FileKind, FileStat};

pub(super) fn stat(reads: Option<&PathBoundary>, path: &Path) -> Result<FileStat, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let data = match reads {
        None => fs::metadata(path).map_err(failed)?,
        Some(reads) if reads.is_bounded() => open_within(reads, path)?.metadata().map_err(failed)?,
        Some(reads) => {
            let path = path.canonicalize().map_err(failed)?;
            reads.check(&path)?;
            fs::metadata(&path).map_err(failed)?
        }
    };
    Ok(FileStat { kind: kind(data.file_type()), len: data.len() })
}

pub(super) fn read(
    reads: Option<&PathBoundary>,
    path: &Path,
    start: u64,
    len: usize,
) -> Result<Vec<u8>, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let file = match reads {
        None => {
            // Checked first, because opening a pipe would wait for its writer.
            require_regular_file(path, &fs::metadata(path).map_err(failed)?)?;
            File::open(path).map_err(failed)?
        }
        Some(reads) => open_within(reads, path)?,
    };
    read_part(file, start, len).map_err(failed)
}

fn read_part(mut file: File, start: u64, len: usize) -> io::Result<Vec<u8>> {
    if start > 0 {
        file.seek(SeekFrom::Start(start))?;
    }
    let mut bytes = Vec::new();
    file.take(len as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn list(
    reads: Option<&PathBoundary>,
    path: &Path,
) -> Result<Vec<DirectoryEntry>, EnvironmentError> {
    let stat = stat(reads, path)?;
    if stat.kind != FileKind::Directory {
        return Err(EnvironmentError::refused(path, "is not a directory"));
    }
    let failed = |error| EnvironmentError::io("list", path, error);
    fs::read_dir(path)
        .map_err(failed)?
        .map(|entry| entry.and_then(|entry| read_entry(&entry)).map_err(failed))
        .collect()
}

fn read_entry(entry: &fs::DirEntry) -> io::Result<DirectoryEntry> {
    let kind = kind(entry.file_type()?);
    let target = match kind {
        FileKind::Link => fs::read_link(entry.path()).ok(),
        FileKind::File | FileKind::Directory | FileKind::Other => None,
    };
    Ok(DirectoryEntry { name: entry.file_name().to_string_lossy().into_owned(), kind, target })
}
