//! The files of a project that haft would run or obey, and their digest.

mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_protocol::difference::ChangeSet;
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

/// The most bytes that a project can be trusted with: 200 MiB.
pub(super) const MAX_BYTES: u64 = 200 * 1024 * 1024;

/// The beginnings of the names of files that are texts, and never run.
const TEXTS: &[&str] = &[".haft/SYSTEM.md", ".haft/prompts/", ".haft/skills/", ".agents/skills/"];

/// The files of a project that haft would run or obey: a digest for each file, and one for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    dir: PathBuf,
    digest: ProjectDigest,
    files: BTreeMap<String, ProjectDigest>,
}

/// The content of a project cannot be read, so it cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Something cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There are more files than are looked at.
    #[error("it brings more than {MAX_FILES} files that haft would run or obey, too many to be trusted; {} is one of them", path.display())]
    TooMany {
        /// The first one too many.
        path: PathBuf,
    },
    /// There is more in the files than is looked at.
    #[error("it brings more than {} MiB that haft would run or obey, too much to be trusted; {} is part of it", MAX_BYTES >> 20, path.display())]
    TooLarge {
        /// The first file that does not fit.
        path: PathBuf,
    },
}

impl Snapshot {
    /// Reads all that a run would use of the project in this directory, because it is trusted: `.haft`, `.agents/skills`,
    /// places of extensions that its `config.toml` names, what the manifests there have started, what its hooks run, what
    /// hooks of the user's run that lies in it, and the context files. Nothing else of the user's own.
    ///
    /// # Errors
    /// [`SnapshotError`] when something cannot be read, or there is too much of it.
    pub fn take(home: &Home, dir: &Path) -> Result<Self, SnapshotError> {
        let read = |source| SnapshotError::Read { path: dir.into(), source };
        let dir = dir.canonicalize().map_err(read)?;
        let project = Project { dir: dir.clone(), trust: ProjectTrust::Trusted };
        let users = [home.root().canonicalize().ok(), users_skills()].into_iter().flatten().collect();
        let mut walk = ProjectWalk::new(&dir, users);
        walk.add(&project.haft_dir(), ".haft")?;
        walk.add(&dir.join(".agents").join("skills"), ".agents/skills")?;
        // A file with a mistake in it names no places and no hooks, and ends a run.
        let file = ParsedConfigFile::load(&project::config_file(&project)).unwrap_or_default();
        for (place, text) in layers::extension_places(&file, Owner::Project).zip(&file.content.extensions) {
            // As the file calls it, so that the digest is the same in another place.
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

    /// The project's directory, canonical.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The digest of all of it.
    pub fn digest(&self) -> ProjectDigest {
        self.digest
    }

    /// The digest of what of it may be run: all but the texts that models and people are told.
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

    /// Returns the differences.
    pub fn difference_from(&self, before: &BTreeMap<String, ProjectDigest>) -> ChangeSet {
        ChangeSet::compare(before, &self.files, String::clone)
    }
}

fn users_skills() -> Option<PathBuf> {
    etcetera::home_dir().ok()?.join(".agents").join("skills").canonicalize().ok()
}

/// The name of a file in a directory that is the project's, or above it.
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
