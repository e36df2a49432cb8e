//! The state of the files on which a gate depends.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The entries of a home that haft changes in every run.
const CHANGING: &[&str] = &["sessions", "logs", "data", "results", "state", "history.jsonl"];

/// A copy of files, with their permissions.
#[derive(Debug, Default)]
pub(super) struct HomeSnapshot {
    roots: Vec<PathBuf>,
    entries: BTreeMap<PathBuf, SavedEntry>,
}

/// A file or a directory.
#[derive(Debug, PartialEq, Eq)]
struct SavedEntry {
    mode: u32,
    /// The content of a file, or the target of a link; `None` for a directory.
    content: Option<Vec<u8>>,
}

impl HomeSnapshot {
    /// Saves everything below these directories.
    pub(super) fn take(roots: &[&Path]) -> Result<Self> {
        let roots: Vec<PathBuf> = roots.iter().map(|root| root.to_path_buf()).collect();
        Ok(Self { entries: entries_of(&roots)?, roots })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Checks that nothing has changed.
    pub(super) fn check(&self) -> Result<()> {
        let now = entries_of(&self.roots)?;
        let paths = self.entries.keys().chain(now.keys());
        let changed = paths.filter(|path| self.entries.get(*path) != now.get(*path));
        let changed: Vec<_> = changed.map(|path| path.display().to_string()).collect();
        ensure!(changed.is_empty(), "the model changed {}", changed.join(", "));
        Ok(())
    }

    /// Restores everything.
    pub(super) fn restore(&self) -> Result<()> {
        for path in entries_of(&self.roots)?.keys().filter(|path| !self.roots.contains(path)) {
            // The entries of a removed directory do not exist any more.
            _ = remove(path);
        }
        self.restore_where(|_| true)
    }

    /// Restores the files with these names.
    pub(super) fn restore_some(&self, names: &[&str]) -> Result<()> {
        self.restore_where(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            self.roots.iter().any(|root| root == path) || name.is_some_and(|name| names.contains(&name))
        })
    }

    fn restore_where(&self, is_chosen: impl Fn(&Path) -> bool) -> Result<()> {
        // A directory comes before its content, and may be read-only.
        let chosen: Vec<_> = self.entries.iter().filter(|(path, _)| is_chosen(path)).collect();
        for (path, entry) in &chosen {
            write_entry(path, entry).with_context(|| format!("restore {}", path.display()))?;
        }
        for (path, entry) in &chosen {
            fs::set_permissions(path, Permissions::from_mode(entry.mode))?;
        }
        Ok(())
    }
}

fn write_entry(path: &Path, entry: &SavedEntry) -> Result<()> {
    let found = fs::symlink_metadata(path).ok();
    match &entry.content {
        None if found.as_ref().is_some_and(fs::Metadata::is_dir) => {
            fs::set_permissions(path, Permissions::from_mode(0o700))?;
        }
        content => {
            if found.is_some() {
                remove(path)?;
            }
            match content {
                Some(content) => fs::write(path, content)?,
                None => fs::create_dir_all(path)?,
            }
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)?
    } else {
        fs::remove_file(path)?
    }
    Ok(())
}

fn entries_of(roots: &[PathBuf]) -> Result<BTreeMap<PathBuf, SavedEntry>> {
    let mut entries = BTreeMap::new();
    for root in roots {
        add_entries(root, &mut entries).with_context(|| format!("read {}", root.display()))?;
    }
    entries.retain(|path, _| !roots.iter().any(|root| is_changing(root, path)));
    Ok(entries)
}

fn is_changing(root: &Path, path: &Path) -> bool {
    let first = path.strip_prefix(root).ok().and_then(|below| below.iter().next());
    first.and_then(|name| name.to_str()).is_some_and(|name| CHANGING.contains(&name))
}

fn add_entries(path: &Path, entries: &mut BTreeMap<PathBuf, SavedEntry>) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let content = if found.is_dir() {
        None
    } else if found.is_symlink() {
        Some(fs::read_link(path)?.into_os_string().into_encoded_bytes())
    } else if found.is_file() {
        Some(fs::read(path)?)
    } else {
        Some(format!("{:?}", found.file_type()).into_bytes())
    };
    entries.insert(path.to_owned(), SavedEntry { mode: found.permissions().mode(), content });
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            add_entries(&entry?.path(), entries)?;
        }
    }
    Ok(())
}
