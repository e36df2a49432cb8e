//! The digests of what a project holds.

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. Written as 64 hexadecimal digits.
pub type Digest = haft_protocol::digest::Digest<false>;

/// The digest of what a hasher was fed.
pub(super) fn of(hasher: Sha256) -> Digest {
    Digest::new(hasher.finalize().into())
}
