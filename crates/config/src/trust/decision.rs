//! The decision whether a project's files are used in a run.

use std::path::{Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::project::{Project, ProjectTrust};

use super::ProjectDigest;
use super::snapshot::{Snapshot, SnapshotError};
use super::store::TrustFile;
use crate::home::Home;

/// The user's request about trust for this run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrustRequest {
    /// No request: the recorded trust applies.
    #[default]
    Nothing,
    /// The project is trusted as it is now, for this run.
    ThisRun,
    /// The project is trusted for this run if it has this digest; otherwise the run fails.
    Exactly(ProjectDigest),
    /// The project is trusted for this run while it has this digest; otherwise the recorded trust applies.
    WhileUnchanged(ProjectDigest),
}

/// The decision about a project's files, with notes.
#[derive(Debug)]
pub struct TrustDecision {
    /// The project, with a canonical path on Unix.
    pub project: Project,
    /// The reason why a project that the user trusted is no longer trusted, as a sentence.
    pub distrust_reason: Option<String>,
    /// The digest of the code that may run, as it was read ([`Snapshot::code_digest`]); `None` if it was not read.
    pub code: Option<ProjectDigest>,
}

/// The project does not have the requested digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectDigestError {
    /// The digest differs.
    #[error(
        "the project in {} has the digest {found}, not {wanted} as given by --trust-project, so it was not used; \
         run `haft trust --show` to review it", dir.display()
    )]
    Other {
        /// The project's directory.
        dir: PathBuf,
        /// The digest of the project.
        found: ProjectDigest,
        /// The requested digest.
        wanted: ProjectDigest,
    },
    /// The digest cannot be computed.
    #[error("cannot compute the digest of the project in {}", dir.display())]
    Unknown {
        /// The project's directory.
        dir: PathBuf,
        /// The cause.
        source: SnapshotError,
    },
}

impl TrustDecision {
    /// Makes the decision. In case of doubt, the project is not trusted.
    ///
    /// # Errors
    /// [`ProjectDigestError`] when the project does not have the requested digest.
    pub fn decide(home: &Home, dir: PathBuf, asked: TrustRequest) -> Result<Self, ProjectDigestError> {
        if !is_up(Defense::ProjectTrust) {
            return Ok(Self::with_trust(dir, ProjectTrust::Trusted, None));
        }
        match asked {
            TrustRequest::WhileUnchanged(digest) => match Snapshot::take(home, &dir) {
                Ok(snapshot) if snapshot.digest() == digest => Ok(Self {
                    code: Some(snapshot.code_digest()),
                    ..Self::with_trust(dir, ProjectTrust::Trusted, None)
                }),
                Ok(_) | Err(_) => Self::decide(home, dir, TrustRequest::Nothing),
            },
            TrustRequest::ThisRun => {
                let code = Snapshot::take(home, &dir).ok().map(|snapshot| snapshot.code_digest());
                Ok(Self { code, ..Self::with_trust(dir, ProjectTrust::Trusted, None) })
            }
            TrustRequest::Nothing => Ok(match recorded_trust(home, &dir) {
                Ok((trust, code)) => Self { code, ..Self::with_trust(dir, trust, None) },
                Err(reason) => Self::with_trust(dir, ProjectTrust::Untrusted, Some(reason)),
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

    fn with_trust(dir: PathBuf, trust: ProjectTrust, reason: Option<String>) -> Self {
        // A path through a symbolic link would have other parent directories than the checked ones.
        let dir = if cfg!(unix) { dir.canonicalize().unwrap_or(dir) } else { dir };
        Self { project: Project { dir, trust }, distrust_reason: reason, code: None }
    }
}

/// Returns the recorded trust in a project and the digest of its code. The error is the reason why the record is not
/// valid.
fn recorded_trust(home: &Home, dir: &Path) -> Result<(ProjectTrust, Option<ProjectDigest>), String> {
    let file = TrustFile::load(home)
        .map_err(|error| format!("no project is trusted: {}", error_chain_text(&error)))?;
    // A directory that cannot be found has not been trusted either.
    let Ok(real) = dir.canonicalize() else { return Ok((ProjectTrust::Untrusted, None)) };
    let above = is_up(Defense::TrustedPath);
    let mut places = real.ancestors().take(if above { 1 } else { usize::MAX });
    let Some(record) = places.find_map(|place| file.record(place)) else {
        return Ok((ProjectTrust::Untrusted, None));
    };
    if !is_up(Defense::TrustedContent) {
        return Ok((ProjectTrust::Trusted, None));
    }
    let snapshot = Snapshot::take(home, &real)
        .map_err(|error| format!("the project is no longer trusted: {}", error_chain_text(&error)))?;
    if snapshot.digest() == record.digest {
        return Ok((ProjectTrust::Trusted, Some(snapshot.code_digest())));
    }
    let difference = snapshot.difference_from(&record.files);
    Err(format!(
        "the project is no longer trusted, because files changed: {difference}; run `haft trust` to review and trust it"
    ))
}

fn error_chain_text(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain_text(source)),
        None => error.to_string(),
    }
}
