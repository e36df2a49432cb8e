//! The decision about the use of a project's files in a run.

use std::path::{Path, PathBuf};

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::project::{Project, ProjectTrust};

use super::ProjectDigest;
use super::snapshot::{Snapshot, SnapshotError};
use super::store::TrustFile;
use crate::home::Home;

/// The user's wish for this run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrustRequest {
    /// Nothing: what is recorded counts.
    #[default]
    Nothing,
    /// The project is trusted as it is now, in this run.
    ThisRun,
    /// The project is trusted in this run if it has this digest, and nothing happens otherwise.
    Exactly(ProjectDigest),
}

/// The decision about the use of a project's files, and the notes about it.
#[derive(Debug)]
pub struct TrustDecision {
    /// The project, on Unix by its canonical path.
    pub project: Project,
    /// Why it is not trusted although the user trusted it, as a sentence.
    pub distrust_reason: Option<String>,
    /// The code that may run, as it was when it was read ([`Snapshot::code`]); none where it was not.
    pub code: Option<ProjectDigest>,
}

/// The project is not the one that was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectDigestError {
    /// It has another digest.
    #[error(
        "the project in {} has the digest {found}, and --trust-project names {wanted}; nothing of it was used. \
         `haft trust --show` tells what it holds", dir.display()
    )]
    Other {
        /// The project's directory.
        dir: PathBuf,
        /// The digest it has.
        found: ProjectDigest,
        /// The digest that was asked for.
        wanted: ProjectDigest,
    },
    /// Its digest cannot be told.
    #[error("the project in {} has no digest", dir.display())]
    Unknown {
        /// The project's directory.
        dir: PathBuf,
        /// Why.
        source: SnapshotError,
    },
}

impl TrustDecision {
    /// Decides. Whatever is not certain is not trusted.
    ///
    /// # Errors
    /// [`ProjectDigestError`] when a digest was asked for that the project does not have.
    pub fn decide(home: &Home, dir: PathBuf, asked: TrustRequest) -> Result<Self, ProjectDigestError> {
        if !is_up(Defence::ProjectTrust) {
            return Ok(Self::with_trust(dir, ProjectTrust::Trusted, None));
        }
        match asked {
            TrustRequest::ThisRun => {
                let code = Snapshot::take(home, &dir).ok().map(|snapshot| snapshot.code_digest());
                Ok(Self { code, ..Self::with_trust(dir, ProjectTrust::Trusted, None) })
            }
            TrustRequest::Nothing => Ok(match recorded_trust(home, &dir) {
                Ok((trust, code)) => Self { code, ..Self::with_trust(dir, trust, None) },
                Err(told) => Self::with_trust(dir, ProjectTrust::Untrusted, Some(told)),
            }),
            TrustRequest::Exactly(wanted) => match Snapshot::take(home, &dir) {
                Ok(snapshot) if snapshot.digest() == wanted => Ok(Self {
                    code: Some(snapshot.code_digest()),
                    ..Self::with_trust(dir, ProjectTrust::Trusted, None)
                }),
                Ok(snapshot) => Err(ProjectDigestError::Other { dir, found: snapshot.digest(), wanted }),
                Err(source) => Err(ProjectDigestError::Unknown { dir, source }),
            },
        }
    }

    fn with_trust(dir: PathBuf, trust: ProjectTrust, told: Option<String>) -> Self {
        // Through a link a path leads past other directories than those whose files were looked at.
        let dir = if cfg!(unix) { dir.canonicalize().unwrap_or(dir) } else { dir };
        Self { project: Project { dir, trust }, distrust_reason: told, code: None }
    }
}

/// Returns the recorded trust in a project, and the code that may run; the error is why the record does not count.
fn recorded_trust(home: &Home, dir: &Path) -> Result<(ProjectTrust, Option<ProjectDigest>), String> {
    let file = TrustFile::load(home)
        .map_err(|error| format!("no project is trusted: {}", error_chain_text(&error)))?;
    // What cannot be found has not been trusted either.
    let Ok(real) = dir.canonicalize() else { return Ok((ProjectTrust::Untrusted, None)) };
    let above = is_up(Defence::TrustedPath);
    let mut places = real.ancestors().take(if above { 1 } else { usize::MAX });
    let Some(record) = places.find_map(|place| file.record(place)) else {
        return Ok((ProjectTrust::Untrusted, None));
    };
    if !is_up(Defence::TrustedContent) {
        return Ok((ProjectTrust::Trusted, None));
    }
    let snapshot = Snapshot::take(home, &real)
        .map_err(|error| format!("the project is no longer trusted: {}", error_chain_text(&error)))?;
    if snapshot.digest() == record.digest {
        return Ok((ProjectTrust::Trusted, Some(snapshot.code_digest())));
    }
    let difference = snapshot.difference_from(&record.files);
    Err(format!(
        "the project is no longer trusted, because it is not what it was: {difference}; `haft trust` shows it and asks"
    ))
}

fn error_chain_text(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain_text(source)),
        None => error.to_string(),
    }
}
