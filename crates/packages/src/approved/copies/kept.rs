//! Files of an extension in places where its next version brings files of its own: moved aside, and never written over.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::InstallError;
use super::super::contents::{TreeContents, TreeEntry};
use super::within::is_within;
use super::{path_matches, remove_outdated};

/// Something of an extension's own that another version left no room for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreservedPath {
    /// Where it was.
    pub from: PathBuf,
    /// Where it is now.
    pub to: PathBuf,
}

/// Gets a copy ready for another version: what only the version `before` brought goes, and what the extension wrote where
/// `now` has something is moved aside. What both brought is code, and is put back as it is in `now`.
///
/// # Errors
/// When something cannot be moved; then nothing is.
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

/// Undoes [`prepare_copy`]: the version before needs it where it was.
pub(crate) fn undo_moves(kept: &[PreservedPath]) {
    for PreservedPath { from, to } in kept {
        // Where it is now it is safe, too.
        _ = fs::rename(to, from);
    }
}

/// Moves something out of the way, beside where it was.
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

/// True if what is there is neither what the version before brought nor what the next one brings. A directory with something
/// in it is, where the next version has none: what only the version before brought is gone from it.
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
