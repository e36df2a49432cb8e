//! The digests that the lock file writes, and how they are made.

use std::fs::File;
use std::io::{self, Read, Write as _};

use sha2::{Digest as _, Sha256};

/// Bytes read at once.
const PIECE: usize = 64 * 1024;

/// A SHA-256 digest. Written as `sha256:` and 64 hexadecimal digits in lower case.
pub type Digest = haft_protocol::digest::Sha256Digest<true>;

pub(super) fn digest_from_hasher(hasher: Sha256) -> Digest {
    Digest::new(hasher.finalize().into())
}

/// The digest of some bytes.
pub fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// Reads a file, writes it if there is somewhere to write it to, and tells what it held.
///
/// # Errors
/// Reading or writing failed.
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
