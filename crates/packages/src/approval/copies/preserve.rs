//! Files of an extension that are in the way of its next version: moved aside, never overwritten.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::InstallError;
use super::super::contents::{TreeContents, TreeEntry};
use super::safe_delete::is_within;
use super::{path_matches, remove_outdated};

/// A file or directory of the extension that was moved aside for another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreservedPath {
    /// The original path.
    pub from: PathBuf,
    /// The present path.
    pub to: PathBuf,
}

/// Prepares a copy for another version. Files that only the version `before` brought are removed. Files that the
/// extension wrote in the place of files of `now` are moved aside. Files of both versions are code, and `restore`
/// replaces them.
///
/// # Errors
/// [`InstallError`] if something cannot be moved; then nothing is moved.
pub(in super::super) fn prepare_copy(
    before: Option<&TreeContents>,
    now: &TreeContents,
    copy: &Path,
) -> Result<Vec<PreservedPath>, InstallError> {
    if let Some(before) = before {
        remove_outdated(before, now, copy);
    }
    let mut kept = Vec::new();
    for (name, item) in now.entries() {
        let path = copy.join(name);
        if !is_within(copy, &path)
            || !is_extension_owned(before.and_then(|before| before.entries().get(name)), item, &path)
        {
            continue;
        }
        // The next version may bring that name, too.
        let is_free = |to: &Path| to.strip_prefix(copy).is_ok_and(|name| !now.entries().contains_key(name));
        match move_aside(&path, is_free) {
            Ok(to) => kept.push(PreservedPath { from: path, to }),
            Err(error) => {
                undo_moves(&kept);
                return Err(error);
            }
        }
    }
    Ok(kept)
}

/// Undoes [`prepare_copy`], because the earlier version needs the files in their original place.
pub(crate) fn undo_moves(kept: &[PreservedPath]) {
    for PreservedPath { from, to } in kept {
        // If the rename fails, the file is still safe in its present place.
        _ = fs::rename(to, from);
    }
}

/// Moves a file or directory to a free name beside its original path.
pub(super) fn move_aside(path: &Path, is_free: impl Fn(&Path) -> bool) -> Result<PathBuf, InstallError> {
    let mut number = 1_u32;
    loop {
        let mut name = path.file_name().map(OsString::from).unwrap_or_default();
        name.push(format!(".kept-{number}"));
        let to = path.with_file_name(name);
        if to.symlink_metadata().is_err() && is_free(&to) {
            fs::rename(path, &to).map_err(InstallError::io("move aside", path))?;
            return Ok(to);
        }
        number += 1;
    }
}

/// True if the file at `path` comes from neither version. A directory that is not empty is the extension's own if the
/// next version has none there, because the earlier version's files are already removed.
fn is_extension_owned(before: Option<&TreeEntry>, now: &TreeEntry, path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    if metadata.is_dir() {
        return *now != TreeEntry::Directory
            && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    }
    before.is_none() && !matches_entry(now, path)
}

fn matches_entry(item: &TreeEntry, path: &Path) -> bool {
    match item {
        TreeEntry::Directory => false,
        TreeEntry::Link(target) => fs::read_link(path).is_ok_and(|now| now == *target),
        TreeEntry::File { executable, digest } => path_matches(path, *executable, digest),
    }
}
