//! A SHA-256 digest, as the lock file writes it.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The length of a digest, in bytes.
const LENGTH: usize = 32;

/// The digits of a digest that people are shown where the whole would be too long.
const SHORT: usize = 12;

/// What stands before the digits.
const PREFIX: &str = "sha256:";

/// A SHA-256 digest. Written as `sha256:` and 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; LENGTH]);

/// A text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 hexadecimal digits in lower case")]
pub struct NoDigest;

impl Digest {
    /// The digest of what a hasher was fed.
    pub(crate) fn of(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    /// The digest of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its digits alone: the name of a tree in the store.
    pub fn hex(&self) -> String {
        // Each start asks for that of every extension, and a formatter takes a hundred times as long.
        let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' - 10 + value });
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
    }

    /// Its first digits, for people. Never compare these.
    pub fn short(&self) -> String {
        self.hex().chars().take(SHORT).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
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
        let digits = text.strip_prefix(PREFIX).ok_or(NoDigest)?.as_bytes();
        let value = |digit: &u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(NoDigest),
        };
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != LENGTH || !rest.is_empty() {
            return Err(NoDigest);
        }
        let mut bytes = [0; LENGTH];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = value(high)? << 4 | value(low)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Digest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a digest")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written_and_in_no_other_way() {
        let digest = Digest::of_bytes(b"x");
        let text = digest.to_string();
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(digest.hex().len(), 2 * LENGTH);
        let wrong = [
            digest.hex(),
            text.to_ascii_uppercase(),
            format!("{text}0"),
            format!("{text}00"),
            text.replace("sha256:", "sha256:+"),
            "sha256:".into(),
        ];
        for text in wrong {
            assert_eq!(text.parse::<Digest>(), Err(NoDigest), "{text}");
        }
    }
}
