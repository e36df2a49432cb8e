//! The kinds of files, and the check for files that can be read and changed.

use std::fs::{FileType, Metadata};
use std::path::Path;

use haft_protocol::defense::{Defense, is_up};

use crate::environment::{EnvironmentError, FileKind};

pub(super) fn kind(kind: FileType) -> FileKind {
    if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}

/// Rejects everything that is not a regular file.
pub(super) fn require_regular_file(path: &Path, data: &Metadata) -> Result<(), EnvironmentError> {
    require_file_kind(path, kind(data.file_type()))
}

pub(super) fn too_long_error(path: &Path, len: u64, limit: u64) -> EnvironmentError {
    let reason = format!(
        "has {len} bytes; files of more than {limit} bytes cannot be changed with this tool; use bash"
    );
    EnvironmentError::refused(path, reason)
}

pub(super) fn require_file_kind(path: &Path, kind: FileKind) -> Result<(), EnvironmentError> {
    if !is_up(Defense::OnlyFiles) {
        return Ok(());
    }
    let reason = match kind {
        FileKind::File => return Ok(()),
        FileKind::Directory => "is a directory, not a file",
        FileKind::Link => "is a symbolic link to a missing file",
        FileKind::Other => "is not a regular file but a pipe, socket or device",
    };
    Err(EnvironmentError::refused(path, reason))
}
