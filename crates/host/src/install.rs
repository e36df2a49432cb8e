//! Extensions come and go: install, list, enable, disable, remove.
//!
//! For whom: `haft ext`. The promise: wherever haft is stopped or killed, an extension is there whole or not at
//! all; nothing of it is run; a source that tries to place files elsewhere is refused.

mod copy;
mod error;
mod git;
mod list;
mod source;
mod toggle;
mod workshop;

use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use crate::manifest::Manifest;
use crate::spec::Origin;
use workshop::Workshop;

pub use copy::{MAX_BYTES, MAX_DEPTH, MAX_ENTRIES};
pub use error::InstallError;
pub use list::{Row, State};
pub use source::{GitUrl, Source};

/// The directories that extensions are kept in.
#[derive(Debug, Clone)]
pub struct Store {
    /// `$HAFT_HOME/extensions`.
    pub global: PathBuf,
    /// `.haft/extensions` of the project somebody works in, if any.
    pub project: Option<PathBuf>,
    /// The value of `PATH`, to find `git` and what a bare `exec` means.
    pub path: Option<std::ffi::OsString>,
}

/// What to do when an extension of that name is installed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    Keep,
    /// Replace its code. What it wrote to its data directory stays, and so does being disabled.
    Replace,
}

/// What was installed.
#[derive(Debug)]
pub struct Installed {
    /// The manifest, as it lies in its new place.
    pub manifest: Manifest,
    /// The new place.
    pub dir: PathBuf,
    /// Whether an installed version was replaced.
    pub replaced: bool,
    /// Why it cannot run yet: its program is not built, or not executable.
    pub problem: Option<String>,
}

impl Store {
    /// Copies an extension into the global directory. Nothing of it is run.
    ///
    /// # Errors
    /// [`InstallError`]; then everything is as it was before.
    pub fn install(&self, source: &Source, existing: Existing) -> Result<Installed, InstallError> {
        let workshop = Workshop::open(&self.global)?;
        match source {
            Source::Directory(dir) => self.install_dir(&workshop, dir, existing),
            Source::Git(url) => {
                let clone = workshop.bench()?;
                let checkout = clone.path().join("checkout");
                git::clone(url, &checkout, self.path.as_deref())?;
                self.install_dir(&workshop, &checkout, existing)
            }
        }
    }

    fn install_dir(
        &self,
        workshop: &Workshop,
        source: &Path,
        existing: Existing,
    ) -> Result<Installed, InstallError> {
        // Before anything is copied, so that a wrong directory is refused at once.
        let name = Manifest::read(source)?.name;
        let place = self.place(&name, existing)?;
        let bench = workshop.bench()?;
        let tree = bench.path().join("tree");
        copy::copy_tree(source, &tree, &self.global)?;
        let manifest = Manifest::read(&tree)?;
        if manifest.name != name {
            return Err(InstallError::Changed { dir: source.into() });
        }
        if place.disabled && manifest.enabled {
            toggle::set_enabled(&tree, false)?;
        }
        workshop.put(&tree, &place.dir)?;
        let manifest = Manifest::read(&place.dir)?;
        let problem = manifest.launch(&place.dir, self.path.as_deref()).err().map(|error| error.to_string());
        Ok(Installed { manifest, dir: place.dir, replaced: place.taken, problem })
    }

    /// Where an extension of that name goes: to the one it replaces, or to a directory of its name.
    fn place(&self, name: &ExtensionName, existing: Existing) -> Result<Place, InstallError> {
        let own = self.global.join(name.as_str());
        let same = |row: &Row| row.name.eq_ignore_ascii_case(name.as_str());
        let old = list::rows(&self.global, Origin::Global, None).into_iter().find(same);
        let taken = old.is_some() || own.symlink_metadata().is_ok();
        let disabled = matches!(&old, Some(Row { state: State::Disabled, .. }));
        let dir = old.map_or(own, |row| row.dir);
        match existing {
            Existing::Keep if taken => Err(InstallError::Exists { name: name.clone(), dir }),
            Existing::Keep | Existing::Replace => Ok(Place { dir, taken, disabled }),
        }
    }

    /// Everything that is there, the user's first, each by name.
    pub fn list(&self) -> Vec<Row> {
        let path = self.path.as_deref();
        let mut rows = list::rows(&self.global, Origin::Global, path);
        if let Some(project) = &self.project {
            rows.extend(list::rows(project, Origin::Project, path));
        }
        rows
    }

    /// The one extension of that name: its manifest's, or its directory's. Where `origin` is open, the user's own
    /// come before the project's.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, name: &str, origin: Option<Origin>) -> Result<Row, InstallError> {
        let wanted = |row: &Row| {
            origin.is_none_or(|origin| row.origin == origin) && (row.name == name || row.dir_name() == name)
        };
        let mut found: Vec<_> = self.list().into_iter().filter(wanted).collect();
        if found.iter().any(|row| row.origin == Origin::Global) {
            found.retain(|row| row.origin == Origin::Global);
        }
        let mut rows = found.into_iter();
        match (rows.next(), rows.next()) {
            (None, _) => Err(InstallError::NotFound { name: name.into() }),
            (Some(row), None) => Ok(row),
            (Some(first), Some(second)) => {
                Err(InstallError::Ambiguous { name: name.into(), first: first.dir, second: second.dir })
            }
        }
    }

    /// Removes an extension's code; a symlink is removed and what it points to stays. Its data and log stay.
    ///
    /// # Errors
    /// [`InstallError`] when the directory cannot be removed.
    pub fn remove(&self, row: &Row) -> Result<(), InstallError> {
        let parent = row.dir.parent().unwrap_or(&self.global);
        Workshop::open(parent)?.discard(&row.dir)
    }

    /// Writes `enabled` into an extension's manifest and leaves the rest of it as it is, byte for byte. Says
    /// whether that changed anything.
    ///
    /// # Errors
    /// [`InstallError`] when the manifest is broken or cannot be written.
    pub fn set_enabled(&self, row: &Row, enabled: bool) -> Result<bool, InstallError> {
        toggle::set_enabled(&row.dir, enabled)
    }
}

struct Place {
    dir: PathBuf,
    taken: bool,
    disabled: bool,
}
