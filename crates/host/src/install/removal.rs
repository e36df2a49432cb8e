//! Taking an extension away, and nothing with it that is the user's own.

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;
use haft_protocol::step::step;

use super::error::with_causes;
use super::lock::{Came, Entry};
use super::trees::swept;
use super::workshop::{Workshop, remove};
use super::{InstallError, Kept, Row, Store, copies, trees};
use crate::discovery::dir_name;
use crate::spec::Origin;

/// Where things are kept that lay in a removed extension's directory, beside that. Nobody looks for extensions there.
const REMOVED: &str = ".removed";

/// What came of removing an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// What lay in its directory and nobody had approved, by where it is now.
    pub kept: Option<Kept>,
    /// What could not be cleared away, for people. The extension is gone all the same.
    pub warnings: Vec<String>,
}

impl Store {
    /// Removes an extension: its code, and that it was approved. Its data, its log, and what it wrote beside its code stay. Of
    /// what lies in the global directory only what was approved is deleted, and the rest moved aside; of a symlink, only
    /// the link. A project's directory is deleted.
    ///
    /// # Errors
    /// [`InstallError`]; then it is as it was before.
    pub fn remove(&self, row: &Row) -> Result<Removed, InstallError> {
        match &row.entry {
            Some(entry) => self.remove_approved(row, entry),
            None if row.origin == Origin::Project => {
                let parent = row.dir.parent().unwrap_or(&self.global);
                Workshop::open(parent)?.discard(&row.dir).map(|()| Removed::default())
            }
            None => Ok(Aside::take(&row.dir)?.clear(|_| {})),
        }
    }

    fn remove_approved(&self, row: &Row, entry: &Entry) -> Result<Removed, InstallError> {
        let trees = self.approved.trees();
        let workshop = Workshop::open(trees.dir())?;
        // At once and whole: what it holds is looked at where nobody takes it for an extension.
        let aside = match &entry.source {
            Came::Placed { path, .. } if path.symlink_metadata().is_ok() => Some(Aside::take(path)?),
            Came::Placed { .. } | Came::Git { .. } | Came::Directory { .. } => None,
        };
        let edited = self.approved.edit(|file| {
            file.extensions.remove(&ExtensionName::new(&row.name));
            file.trees()
        });
        let keep = edited.inspect_err(|_| aside.iter().for_each(Aside::put_back))?;
        let code = trees.verify(&entry.tree).ok();
        let clear = |copy: &Path| code.iter().for_each(|code| copies::clear(code, copy));
        if entry.runs_in_copy() {
            clear(&row.runs_in);
        }
        let mut removed = aside.map(|aside| aside.clear(clear)).unwrap_or_default();
        removed.warnings.extend(swept(trees.sweep(&workshop, &keep)));
        Ok(removed)
    }
}

/// A directory that was moved aside.
struct Aside(Kept);

impl Aside {
    fn take(dir: &Path) -> Result<Self, InstallError> {
        let place = dir.parent().unwrap_or(dir).join(REMOVED);
        fs::create_dir_all(&place).map_err(InstallError::io("create", &place))?;
        let to = free(&place, &dir_name(dir));
        // The user may have kept it from being written to.
        let move_it = || {
            trees::let_go(dir)?;
            step();
            fs::rename(dir, &to)
        };
        let moved = move_it().map_err(InstallError::io("move aside", dir));
        let aside = Self(Kept { from: dir.into(), to });
        moved.inspect_err(|_| aside.leave())?;
        Ok(aside)
    }

    /// Undoes it. Where it is now it is safe, too.
    fn put_back(&self) {
        step();
        _ = fs::rename(&self.0.to, &self.0.from);
        self.leave();
    }

    /// Deletes what nobody needs to keep: `code` does that in a directory.
    fn clear(self, code: impl Fn(&Path)) -> Removed {
        let Kept { from, to } = &self.0;
        let mut removed = Removed::default();
        if to.is_symlink() {
            // It is the link that was put there; what it leads to is somebody else's.
            if let Err(error) = remove(to) {
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

/// A name in a place that nothing has.
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
