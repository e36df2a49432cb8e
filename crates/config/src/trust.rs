//! Which projects the user trusts, and what exactly of them.
//!
//! Trust is in what a project holds, not in its name: it ends when any file changes that haft would run or obey.

mod decision;
mod snapshot;
mod store;

use sha2::{Digest as _, Sha256};

pub use decision::{ProjectDigestError, TrustDecision, TrustRequest};
pub use haft_protocol::difference::ChangeSet;
pub use haft_protocol::digest::ParseDigestError;
pub use snapshot::{Snapshot, SnapshotError};
pub use store::{TrustError, TrustFile, TrustRecord};

/// A SHA-256 digest. Written as 64 hexadecimal digits.
pub type ProjectDigest = haft_protocol::digest::Sha256Digest<false>;

fn digest_of(hasher: Sha256) -> ProjectDigest {
    ProjectDigest::new(hasher.finalize().into())
}

#[cfg(test)]
mod tests;
