//! The digests that the lock file writes, and how they are made.

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. Written as `sha256:` and 64 hexadecimal digits in lower case.
pub type Digest = haft_protocol::digest::Digest<true>;

/// The digest of what a hasher was fed.
pub(super) fn of(hasher: Sha256) -> Digest {
    Digest::new(hasher.finalize().into())
}

/// The digest of some bytes.
pub fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}
