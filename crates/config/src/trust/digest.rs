//! A SHA-256 digest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The length of a digest, in bytes.
const LENGTH: usize = 32;

/// The characters of a digest that people are shown where the whole would be too long.
const SHORT: usize = 12;

/// A SHA-256 digest. Written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; LENGTH]);

/// A text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits; `haft trust --show` prints it")]
pub struct NoDigest;

impl Digest {
    /// The digest of what a hasher was fed.
    pub(super) fn of(hasher: sha2::Sha256) -> Self {
        Self(sha2::Digest::finalize(hasher).into())
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its first digits, for people. Never compare these.
    pub fn short(&self) -> String {
        self.to_string().chars().take(SHORT).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let digits: Option<Vec<u8>> =
            text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        let digits = digits.filter(|digits| digits.len() == 2 * LENGTH).ok_or(NoDigest)?;
        let bytes = digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit));
        bytes.collect::<Vec<u8>>().try_into().map(Self).map_err(|_| NoDigest)
    }
}

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(text: String) -> Result<Self, NoDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}
