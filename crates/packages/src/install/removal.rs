//! Taking an extension away, and nothing with it that is the user's own.

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use super::lock::{Approved, Came, Entry, LockFile};
use super::{InstallError, Kept, Row, Store};
use crate::approved::error::with_causes;
use crate::approved::trees::swept;
use crate::approved::workshop::{self, Workshop};
use crate::approved::{copies, seal};
use crate::file_name::dir_name;
use crate::spec::Origin;

/// Where things are kept that lay in a removed extension's directory, beside that. Nobody looks for extensions there.
const REMOVED: &str = ".removed";

/// The outcome of removing an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// The files in its directory that were not approved, by where they are now.
    pub kept: Option<Kept>,
    /// Warnings about leftovers that could not be cleared away, for people. The extension is gone all the same.
    pub warnings: Vec<String>,
}

pub(super) fn remove(store: &Store, row: &Row) -> Result<Removed, InstallError> {
    match &row.entry {
        Some(entry) => remove_approved(&store.approved, row, entry),
        None if row.origin == Origin::Project => {
            let parent = row.dir.parent().unwrap_or(&store.global);
            Workshop::open(parent)?.discard(&row.dir).map(|()| Removed::default())
        }
        None => remove_unapproved(&store.approved, row),
    }
}

fn remove_unapproved(approved: &Approved, row: &Row) -> Result<Removed, InstallError> {
    // As long as this is held nobody approves it.
    let _workshop = Workshop::open(approved.trees().dir())?;
    if approved.load()?.placed(&row.dir).next().is_some() {
        return Err(row.meanwhile());
    }
    Ok(Aside::take(&row.dir)?.clear(|_| {}))
}

fn remove_approved(approved: &Approved, row: &Row, entry: &Entry) -> Result<Removed, InstallError> {
    let (trees, name) = (approved.trees(), ExtensionName::new(&row.name));
    let workshop = Workshop::open(trees.dir())?;
    // The yes is for what was looked up.
    let is_known =
        |file: &LockFile| file.extensions.get(&name).is_some_and(|known| known.is_same_version(entry));
    let file = approved.load()?;
    if !is_known(&file) {
        return Err(row.meanwhile());
    }
    let (mut aside, mut left) = (None, None);
    if let Came::Placed { path, .. } = &entry.source
        && file.placed(path).all(|known| *known == name)
    {
        match path.symlink_metadata() {
            // At once and whole: what it holds is looked at where nobody takes it for an extension.
            Ok(_) => aside = Some(Aside::take(path)?),
            Err(_) => left = left_by_another(path),
        }
    }
    let edited = approved.edit(|file| {
        is_known(file).then(|| {
            file.extensions.remove(&name);
            file.trees()
        })
    });
    let done = edited.map_err(InstallError::from).and_then(|keep| keep.ok_or_else(|| row.meanwhile()));
    let keep = done.inspect_err(|_| aside.iter().for_each(Aside::put_back))?;
    let code = trees.verify(&entry.tree).ok();
    let clear = |copy: &Path| code.iter().for_each(|code| copies::clear(code, copy));
    if entry.runs_in_copy() {
        clear(&row.runs_in);
    }
    let mut removed = aside.map(|aside| aside.clear(clear)).unwrap_or_default();
    removed.warnings.extend(left.into_iter().chain(swept(trees.sweep(&workshop, &keep))));
    Ok(removed)
}

/// Of a directory that is gone, what people are told when removals have moved something of that name aside: whoever was killed
/// at it has told nobody.
fn left_by_another(dir: &Path) -> Option<String> {
    let (place, name) = (place_beside(dir), dir_name(dir));
    let is_its = |path: &PathBuf| {
        let number = dir_name(path).strip_prefix(&format!("{name}-")).map(str::to_owned);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries.map(|entry| entry.path()).filter(is_its).collect();
    all.sort();
    let all: Vec<_> = all.iter().map(|path| path.display().to_string()).collect();
    let text = || {
        format!(
            "{} was gone already; what a removal before this moved aside is in {}",
            dir.display(),
            all.join(", ")
        )
    };
    (!all.is_empty()).then(text)
}

/// Where a directory is moved aside to.
fn place_beside(dir: &Path) -> PathBuf {
    dir.parent().unwrap_or(dir).join(REMOVED)
}

/// A directory that was moved aside.
struct Aside(Kept);

impl Aside {
    fn take(dir: &Path) -> Result<Self, InstallError> {
        let place = place_beside(dir);
        fs::create_dir_all(&place).map_err(InstallError::io("create", &place))?;
        let to = free(&place, &dir_name(dir));
        // The user may have kept it from being written to.
        let move_it = || {
            seal::let_go(dir)?;
            fs::rename(dir, &to)
        };
        let moved = move_it().map_err(InstallError::io("move aside", dir));
        let aside = Self(Kept { from: dir.into(), to });
        moved.inspect_err(|_| aside.leave())?;
        Ok(aside)
    }

    /// Undoes it. Where it is now it is safe, too.
    fn put_back(&self) {
        _ = fs::rename(&self.0.to, &self.0.from);
        self.leave();
    }

    /// Deletes what nobody needs to keep: `code` does that in a directory.
    fn clear(self, code: impl Fn(&Path)) -> Removed {
        let Kept { from, to } = &self.0;
        let mut removed = Removed::default();
        if to.is_symlink() {
            // It is the link that was put there; what it leads to is somebody else's.
            if let Err(error) = workshop::remove(to) {
                removed.warnings.push(format!(
                    "the link from {} is left: {}",
                    from.display(),
                    with_causes(&error)
                ));
            }
        } else {
            code(to);
            if to.symlink_metadata().is_ok() {
                removed.kept = Some(self.0.clone());
            }
        }
        self.leave();
        removed
    }

    /// The place of what is kept stays only while it holds something.
    fn leave(&self) {
        _ = self.0.to.parent().map(fs::remove_dir);
    }
}

fn free(place: &Path, name: &str) -> PathBuf {
    let mut number = 1_u32;
    loop {
        let path = place.join(format!("{name}-{number}"));
        if path.symlink_metadata().is_err() {
            return path;
        }
        number += 1;
    }
}
