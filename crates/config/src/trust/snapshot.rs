//! The files of a project that haft would run or follow, and their digest.

mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_protocol::change_set::ChangeSet;
use haft_protocol::project::{Project, ProjectTrust};
use sha2::{Digest as _, Sha256};

use super::{ProjectDigest, digest_of};
use crate::context;
use crate::file::ParsedConfigFile;
use crate::home::Home;
use crate::hooks::HookTimeouts;
use crate::layers;
use crate::origin::Owner;
use crate::project;
use walk::ProjectWalk;

const MAX_FILES: usize = 20_000;

/// The maximum size of a project that can be trusted: 200 MiB.
pub(super) const MAX_BYTES: u64 = 200 * 1024 * 1024;

/// The prefixes of the names of files that are only text and never run.
const TEXTS: &[&str] = &[".haft/SYSTEM.md", ".haft/prompts/", ".haft/skills/", ".agents/skills/"];

/// The files of a project that haft would run or follow: one digest for each file, and one for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    dir: PathBuf,
    digest: ProjectDigest,
    files: BTreeMap<String, ProjectDigest>,
}

/// The content of a project cannot be read, so the project cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// A file or directory cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The project has more files than the limit.
    #[error("the project has more than {MAX_FILES} files that haft would run or follow, too many to be trusted (one of them: {})", path.display())]
    TooMany {
        /// The first file over the limit.
        path: PathBuf,
    },
    /// The files of the project are larger than the limit.
    #[error("the project has more than {} MiB of files that haft would run or follow, too much to be trusted (one of them: {})", MAX_BYTES >> 20, path.display())]
    TooLarge {
        /// The first file over the limit.
        path: PathBuf,
    },
}

impl Snapshot {
    /// Reads all files of the project in `dir` that a run would use if the project is trusted: `.haft`,
    /// `.agents/skills`, extension directories named by its `config.toml`, programs started by their manifests or by
    /// its hooks, project files that the user's hooks run, and context files. Other files of the user are not included.
    ///
    /// # Errors
    /// [`SnapshotError`] when a file cannot be read, or the project is too large.
    pub fn take(home: &Home, dir: &Path) -> Result<Self, SnapshotError> {
        let read = |source| SnapshotError::Read { path: dir.into(), source };
        let dir = dir.canonicalize().map_err(read)?;
        let project = Project { dir: dir.clone(), trust: ProjectTrust::Trusted };
        let users = [home.root().canonicalize().ok(), users_skills()].into_iter().flatten().collect();
        let mut walk = ProjectWalk::new(&dir, users);
        walk.add(&project.haft_dir(), ".haft")?;
        walk.add(&dir.join(".agents").join("skills"), ".agents/skills")?;
        // A file with a mistake names no directories and no hooks, and a run with it fails.
        let file =
            ParsedConfigFile::load_from_project(&project::config_file(&project), &dir).unwrap_or_default();
        for (place, text) in layers::extension_places(&file, Owner::Project).zip(&file.content.extensions) {
            // Named as in the file, so that the digest does not depend on the project's location.
            walk.add(&place.path, &format!("extensions: {text}"))?;
        }
        for path in context::context_files_outwards(&dir, context::owner_ids) {
            if home.context_file().canonicalize().ok().is_none_or(|own| path.canonicalize().ok() != Some(own))
            {
                walk.add(&path, &relative_name(&dir, &path))?;
            }
        }
        walk.add_programs()?;
        for hook in file.hooks(Owner::Project, HookTimeouts::default()).unwrap_or_default() {
            walk.add_hook(&hook)?;
        }
        let users = ParsedConfigFile::load(&home.config_file()).unwrap_or_default();
        for hook in users.hooks(Owner::User, HookTimeouts::default()).unwrap_or_default() {
            walk.add_named(&format!("your hook {}", hook.name), &hook.code_in_project(home, &dir))?;
        }
        let files = walk.into_files();
        Ok(Self { dir, digest: combined_digest(files.iter()), files })
    }

    /// The canonical path of the project.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The digest of all files.
    pub fn digest(&self) -> ProjectDigest {
        self.digest
    }

    /// Returns the digest of the files that may run: all except texts for models and people.
    pub fn code_digest(&self) -> ProjectDigest {
        let is_text = |name: &str| {
            TEXTS.iter().any(|text| name.starts_with(text))
                || context::is_context_file_name(name.trim_start_matches("../"))
        };
        let code = self.files.iter().filter(|(name, _)| !is_text(name));
        combined_digest(code)
    }

    /// The digest of each file, by its name relative to the project.
    pub fn files(&self) -> &BTreeMap<String, ProjectDigest> {
        &self.files
    }

    /// Returns the differences from an earlier list of files.
    pub fn difference_from(&self, before: &BTreeMap<String, ProjectDigest>) -> ChangeSet {
        ChangeSet::compare(before, &self.files, String::clone)
    }
}

fn users_skills() -> Option<PathBuf> {
    etcetera::home_dir().ok()?.join(".agents").join("skills").canonicalize().ok()
}

/// Returns the name of a file in the project's directory or in one above it.
fn relative_name(dir: &Path, path: &Path) -> String {
    let above = dir.ancestors().position(|above| path.parent() == Some(above)).unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    format!("{}{}", "../".repeat(above), walk::escaped_name(name))
}

fn combined_digest<'a>(files: impl Iterator<Item = (&'a String, &'a ProjectDigest)>) -> ProjectDigest {
    let mut all = Sha256::new_with_prefix(b"haft project 1\n");
    for (name, digest) in files {
        all.update((name.len() as u64).to_le_bytes());
        all.update(name.as_bytes());
        all.update(digest.bytes());
    }
    digest_of(all)
}
