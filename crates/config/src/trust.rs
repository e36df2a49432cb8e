//! The projects that the user trusts, and the trusted content of each.
//!
//! Trust refers to the content of a project, not to its name. It ends when a file changes that haft would run or
//! follow.

mod decision;
mod snapshot;
mod store;

use sha2::{Digest as _, Sha256};

pub use decision::{ProjectDigestError, TrustDecision, TrustRequest};
pub use haft_protocol::change_set::ChangeSet;
pub use haft_protocol::digest::ParseDigestError;
pub use snapshot::{Snapshot, SnapshotError};
pub use store::{TrustError, TrustFile, TrustRecord};

/// A SHA-256 digest, written as 64 hexadecimal digits.
pub type ProjectDigest = haft_protocol::digest::Sha256Digest<false>;

fn digest_of(hasher: Sha256) -> ProjectDigest {
    ProjectDigest::new(hasher.finalize().into())
}

#[cfg(test)]
mod tests;
