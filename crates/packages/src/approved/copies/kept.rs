//! Files of an extension in places where its next version brings files of its own: moved aside, and never written over.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::InstallError;
use super::super::contents::{Contents, Item};
use super::within::is_within;
use super::{is_same, retire};

/// Something of an extension's own that another version left no room for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
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
pub(in super::super) fn make_room(
    before: Option<&Contents>,
    now: &Contents,
    copy: &Path,
) -> Result<Vec<Kept>, InstallError> {
    if let Some(before) = before {
        retire(before, now, copy);
    }
    let mut kept = Vec::new();
    for (name, item) in now.items() {
        let path = copy.join(name);
        if !is_within(copy, &path) || !is_own(before.and_then(|before| before.items().get(name)), item, &path)
        {
            continue;
        }
        // The next version may bring that name, too.
        let is_free = |to: &Path| to.strip_prefix(copy).is_ok_and(|name| !now.items().contains_key(name));
        match aside(&path, is_free) {
            Ok(to) => kept.push(Kept { from: path, to }),
            Err(error) => {
                put_back(&kept);
                return Err(error);
            }
        }
    }
    Ok(kept)
}

/// Undoes [`make_room`]: the version before needs it where it was.
pub(crate) fn put_back(kept: &[Kept]) {
    for Kept { from, to } in kept {
        // Where it is now it is safe, too.
        _ = fs::rename(to, from);
    }
}

/// Moves something out of the way, beside where it was.
pub(super) fn aside(path: &Path, is_free: impl Fn(&Path) -> bool) -> Result<PathBuf, InstallError> {
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
fn is_own(before: Option<&Item>, now: &Item, path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    if metadata.is_dir() {
        return *now != Item::Directory
            && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    }
    before.is_none() && !is_as(now, path)
}

fn is_as(item: &Item, path: &Path) -> bool {
    match item {
        Item::Directory => false,
        Item::Link(target) => fs::read_link(path).is_ok_and(|now| now == *target),
        Item::File { executable, digest } => is_same(path, *executable, digest),
    }
}
