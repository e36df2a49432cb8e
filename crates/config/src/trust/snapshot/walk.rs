//! The walk over the files of a project that haft would run or follow.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::{ProjectDigest, digest_of};
use super::{MAX_BYTES, MAX_FILES, SnapshotError};
use crate::hooks::{NamedFile, ProcessHook};

/// The maximum nesting of directories.
const MAX_DEPTH: usize = 64;

/// The depth to which haft itself looks for files to run or follow (`.haft/extensions/NAME`). Links to directories are
/// followed down to this depth, even out of the project.
const OWN_DEPTH: usize = 2;

/// The size of one read, in bytes.
const PIECE: usize = 64 * 1024;

/// The file that makes a directory an extension.
const MANIFEST: &str = "extension.json";

/// The maximum size of a manifest, in bytes. The host does not read longer ones.
const MAX_MANIFEST: u64 = 1024 * 1024;

/// The state of a walk through a project.
pub(super) struct ProjectWalk<'a> {
    project: &'a Path,
    /// Canonical paths of the user's own directories.
    users: Vec<PathBuf>,
    /// Visited directories as canonical paths, with their depth, because links may form cycles.
    visited: HashMap<PathBuf, usize>,
    files: BTreeMap<String, ProjectDigest>,
    /// The directories with manifests found so far, and their names.
    manifests: Vec<(PathBuf, String)>,
    room: u64,
    most: usize,
}

impl<'a> ProjectWalk<'a> {
    pub(super) fn new(project: &'a Path, users: Vec<PathBuf>) -> Self {
        Self {
            project,
            users,
            visited: HashMap::new(),
            files: BTreeMap::new(),
            manifests: Vec::new(),
            room: MAX_BYTES,
            most: MAX_FILES,
        }
    }

    pub(super) fn into_files(self) -> BTreeMap<String, ProjectDigest> {
        self.files
    }

    /// Adds a file, or a directory and everything below it. Does nothing if the path does not exist.
    pub(super) fn add(&mut self, path: &Path, name: &str) -> Result<(), SnapshotError> {
        // A component of a longer name may also be a link, for example `.agents` itself.
        match fs::symlink_metadata(path) {
            Ok(metadata) => self.add_entry(path, name, &metadata, 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
            Err(source) => Err(SnapshotError::Read { path: path.into(), source }),
        }
    }

    /// Adds the programs that the manifests found so far would start, wherever in the project they are, so that only
    /// checked files run.
    pub(super) fn add_programs(&mut self) -> Result<(), SnapshotError> {
        for (dir, name) in std::mem::take(&mut self.manifests) {
            for word in named_by_manifest(&dir) {
                let path = dir.join(&word);
                if path.is_file() && (Path::new(&word).is_relative() || self.is_projects(&path)) {
                    self.add(&path, &format!("{name} runs {}", escaped_name(word.as_ref())))?;
                }
            }
        }
        Ok(())
    }

    /// Adds the files that a hook of the project names, wherever in the project they are; see
    /// [`ProcessHook::code_files`].
    pub(super) fn add_hook(&mut self, hook: &ProcessHook) -> Result<(), SnapshotError> {
        let named = hook.code_files(self.project).into_iter();
        let named: Vec<_> = named
            .filter(|named| Path::new(&named.word).is_relative() || self.is_projects(&named.path))
            .collect();
        self.add_named(&format!("hook {}", hook.name), &named)
    }

    pub(super) fn add_named(&mut self, who: &str, all: &[NamedFile]) -> Result<(), SnapshotError> {
        let mut files = all.iter().filter(|named| named.path.is_file());
        files.try_for_each(|named| {
            self.add(&named.path, &format!("{who} runs {}", escaped_name(named.word.as_ref())))
        })
    }

    fn add_entry(
        &mut self,
        path: &Path,
        name: &str,
        metadata: &Metadata,
        depth: usize,
    ) -> Result<(), SnapshotError> {
        if metadata.is_dir() {
            return self.add_directory(path, name, depth);
        }
        let mut hasher = Sha256::new();
        let metadata = if metadata.is_symlink() {
            let target = fs::read_link(path).map_err(|source| read_error(path, source))?;
            let target = target.as_os_str().as_encoded_bytes();
            hasher.update(b"link");
            hasher.update((target.len() as u64).to_le_bytes());
            hasher.update(target);
            // A dangling link counts with its target path.
            fs::metadata(path).ok()
        } else {
            Some(metadata.clone())
        };
        match metadata {
            Some(metadata) if metadata.is_file() => self.hash_content(path, &metadata, &mut hasher)?,
            Some(metadata) if metadata.is_dir() && (depth <= OWN_DEPTH || self.is_projects(path)) => {
                self.add_directory(path, name, depth)?;
            }
            // Pipes and devices are never opened. Other directories outside the project count only by name.
            Some(_) => hasher.update(b"other"),
            None => {}
        }
        if self.files.len() >= self.most {
            return Err(SnapshotError::TooMany { path: path.into() });
        }
        self.files.insert(name.to_owned(), digest_of(hasher));
        Ok(())
    }

    fn is_projects(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path.starts_with(self.project))
    }

    fn add_directory(&mut self, path: &Path, name_so_far: &str, depth: usize) -> Result<(), SnapshotError> {
        let real = path.canonicalize().map_err(|source| read_error(path, source))?;
        // In haft's own search depth, more links are followed than further down.
        let known = |before: &usize| *before <= depth || depth > OWN_DEPTH;
        if self.users.contains(&real) || self.visited.get(&real).is_some_and(known) {
            return Ok(());
        }
        self.visited.insert(real, depth);
        if depth > MAX_DEPTH || self.visited.len() > self.most {
            return Err(SnapshotError::TooMany { path: path.into() });
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(|source| read_error(path, source))? {
            if entries.len() > self.most {
                return Err(SnapshotError::TooMany { path: path.into() });
            }
            entries.push(entry.map_err(|source| read_error(path, source))?.file_name());
        }
        // Sorted, because the first of several names of a directory is used.
        entries.sort();
        if entries.iter().any(|entry| entry == MANIFEST) {
            self.manifests.push((path.to_owned(), name_so_far.to_owned()));
        }
        for entry in entries {
            let path = path.join(&entry);
            let metadata = fs::symlink_metadata(&path).map_err(|source| read_error(&path, source))?;
            self.add_entry(&path, &format!("{name_so_far}/{}", escaped_name(&entry)), &metadata, depth + 1)?;
        }
        Ok(())
    }

    fn hash_content(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        into: &mut Sha256,
    ) -> Result<(), SnapshotError> {
        if metadata.len() > self.room {
            return Err(SnapshotError::TooLarge { path: path.into() });
        }
        into.update(if is_executable(metadata) { b"exec" } else { b"file" });
        let mut file = crate::read::open_regular(path).map_err(|source| read_error(path, source))?;
        let mut piece = vec![0; PIECE];
        loop {
            let count = file.read(&mut piece).map_err(|source| read_error(path, source))?;
            let bytes = piece.get(..count).unwrap_or_default();
            if bytes.is_empty() {
                return Ok(());
            }
            self.room = (self.room.checked_sub(bytes.len() as u64))
                .ok_or_else(|| SnapshotError::TooLarge { path: path.into() })?;
            into.update(bytes);
        }
    }
}

fn read_error(path: &Path, source: io::Error) -> SnapshotError {
    SnapshotError::Read { path: path.into(), source }
}

/// Returns the paths that the manifest in a directory names in `exec` and `args`, as written: words that contain a `/`.
/// Other words name a program of the system or a file beside the manifest.
///
/// A manifest that cannot be read names no paths, and cannot be started either.
fn named_by_manifest(dir: &Path) -> Vec<String> {
    let text = crate::read::text(&dir.join(MANIFEST), MAX_MANIFEST).unwrap_or_default();
    let Ok(Value::Object(fields)) = serde_json::from_str(text.trim_start_matches('\u{feff}')) else {
        return Vec::new();
    };
    // The host ignores the case of keys, and rejects duplicate keys.
    let of =
        |key: &str| fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(key)).map(|(_, value)| value);
    let args = of("args").and_then(Value::as_array).into_iter().flatten();
    let words = of("exec").into_iter().chain(args).filter_map(Value::as_str);
    words.filter(|word| word.contains(std::path::is_separator)).map(str::to_owned).collect()
}

/// Returns a name as text. Different names always have different texts, whatever bytes they contain.
pub(super) fn escaped_name(name: &OsStr) -> String {
    let plain = name.to_str().filter(|name| !name.contains(|c: char| c == '\\' || c.is_control()));
    plain.map_or_else(|| name.as_encoded_bytes().escape_ascii().to_string(), str::to_owned)
}

/// Only this part of the mode is the same in every checkout of a repository.
#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks a project of five files in two directories with limits of `most`. Returns the number of files.
    fn walk(most: usize) -> Result<usize, SnapshotError> {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir_all(project.path().join("a/b")).unwrap();
        for file in ["a/1", "a/2", "a/b/3", "a/b/4", "a/b/5"] {
            fs::write(project.path().join(file), file).unwrap();
        }
        let mut walk = ProjectWalk { most, ..ProjectWalk::new(project.path(), Vec::new()) };
        walk.add(&project.path().join("a"), "a")?;
        Ok(walk.into_files().len())
    }

    #[test]
    fn rejects_project_with_too_many_files() {
        assert_eq!(ProjectWalk::new(Path::new("/"), Vec::new()).most, MAX_FILES);
        assert_eq!(walk(5).unwrap(), 5);
        for most in 0..5 {
            assert!(matches!(walk(most), Err(SnapshotError::TooMany { .. })), "{most}");
        }
    }

    #[test]
    fn stops_reading_a_long_directory_at_the_limit() {
        let project = tempfile::tempdir().unwrap();
        (0..4).for_each(|n| drop(fs::File::create(project.path().join(n.to_string())).unwrap()));
        let mut walk = ProjectWalk { most: 2, ..ProjectWalk::new(project.path(), Vec::new()) };
        let error = walk.add(project.path(), "p").unwrap_err();
        assert!(matches!(error, SnapshotError::TooMany { path } if path == project.path()));
        assert_eq!(walk.into_files().len(), 0);
    }
}
