//! The digests in the lock file, and how they are computed.

use std::fs::File;
use std::io::{self, Read, Write as _};

use sha2::{Digest as _, Sha256};

/// The size of the read buffer in bytes.
const PIECE: usize = 64 * 1024;

/// A SHA-256 digest. Written as `sha256:` and 64 hexadecimal digits in lower case.
pub type Digest = haft_protocol::digest::Sha256Digest<true>;

pub(super) fn digest_from_hasher(hasher: Sha256) -> Digest {
    Digest::new(hasher.finalize().into())
}

/// Returns the digest of some bytes.
pub fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// Reads a file, copies it to `to` if given, and returns the digest of its content.
///
/// # Errors
/// An I/O error if reading or writing fails.
pub fn copy_and_digest(mut source: impl Read, mut to: Option<&mut File>) -> io::Result<Digest> {
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        let count = source.read(&mut piece)?;
        let bytes = piece.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(digest_from_hasher(hasher));
        }
        hasher.update(bytes);
        if let Some(to) = &mut to {
            to.write_all(bytes)?;
        }
    }
}
