//! SHA-256 digests in the form of files and command lines. This module computes no digests.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The length of a digest, in bytes.
const LENGTH: usize = 32;

/// The number of digits in the short form for people.
const SHORT: usize = 12;

/// The text before the digits of a tagged digest.
const TAG: &str = "sha256:";

/// A SHA-256 digest. Its text is 64 lower-case hexadecimal digits. A `TAGGED` digest has the prefix
/// `sha256:`, and requires it when parsed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Digest<const TAGGED: bool>([u8; LENGTH]);

/// The error for a text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDigestError {
    before: &'static str,
    after: &'static str,
}

impl fmt::Display for ParseDigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a digest is {}64 hexadecimal digits{}", self.before, self.after)
    }
}

impl std::error::Error for ParseDigestError {}

impl<const TAGGED: bool> Sha256Digest<TAGGED> {
    /// Creates a digest from its bytes.
    pub fn new(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the digits without a prefix.
    pub fn to_hex(&self) -> String {
        // Each start formats the digest of every extension, and a formatter takes a hundred times
        // as long.
        let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' - 10 + value });
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
    }

    /// Returns the first digits, for people. Never compare these.
    pub fn short_hex(&self) -> String {
        self.to_hex().chars().take(SHORT).collect()
    }

    fn error() -> ParseDigestError {
        match TAGGED {
            true => ParseDigestError { before: "`sha256:` and ", after: " in lower case" },
            false => ParseDigestError { before: "", after: "" },
        }
    }
}

impl<const TAGGED: bool> fmt::Display for Sha256Digest<TAGGED> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if TAGGED { TAG } else { "" })?;
        f.write_str(&self.to_hex())
    }
}

impl<const TAGGED: bool> fmt::Debug for Sha256Digest<TAGGED> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const TAGGED: bool> FromStr for Sha256Digest<TAGGED> {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let digits = if TAGGED { text.strip_prefix(TAG) } else { Some(text) };
        let digits = digits.map(str::as_bytes).filter(|digits| digits.len() == 2 * LENGTH);
        let value = |digit: &u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            // A digest that a person copies may have passed through a program that writes upper
            // case.
            b'A'..=b'F' if !TAGGED => Ok(digit - b'A' + 10),
            _ => Err(Self::error()),
        };
        let (pairs, _) = digits.ok_or_else(Self::error)?.as_chunks::<2>();
        let mut bytes = [0; LENGTH];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = value(high)? << 4 | value(low)?;
        }
        Ok(Self(bytes))
    }
}

impl<const TAGGED: bool> Serialize for Sha256Digest<TAGGED> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const TAGGED: bool> Deserialize<'de> for Sha256Digest<TAGGED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DigestVisitor<const TAGGED: bool>;
        impl<const TAGGED: bool> Visitor<'_> for DigestVisitor<TAGGED> {
            type Value = Sha256Digest<TAGGED>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a digest")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(DigestVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; LENGTH] = [0xa5; LENGTH];

    #[track_caller]
    fn check<const TAGGED: bool>(text: &str, expect: bool) {
        let read: Result<Sha256Digest<TAGGED>, _> = text.parse();
        assert_eq!(
            read,
            if expect { Ok(Sha256Digest::new(BYTES)) } else { Err(Sha256Digest::<TAGGED>::error()) },
            "{text}"
        );
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(serde_json::from_str::<Sha256Digest<TAGGED>>(&json).is_ok(), expect, "{text}");
    }

    #[test]
    fn digest_round_trips() {
        let digits = "a5".repeat(LENGTH);
        let (plain, tagged) = (Sha256Digest::<false>::new(BYTES), Sha256Digest::<true>::new(BYTES));
        assert_eq!(
            (plain.to_string(), plain.to_hex(), plain.short_hex()),
            (digits.clone(), digits.clone(), "a5a5a5a5a5a5".into())
        );
        assert_eq!((tagged.to_string(), tagged.to_hex()), (format!("sha256:{digits}"), digits.clone()));
        assert_eq!(serde_json::to_string(&tagged).unwrap(), format!("\"sha256:{digits}\""));
        check::<false>(&digits, true);
        check::<false>(&digits.to_ascii_uppercase(), true);
        check::<true>(&tagged.to_string(), true);
    }

    #[test]
    fn rejects_invalid_digests() {
        let digits = "a5".repeat(LENGTH);
        let more =
            [format!("{digits}0"), format!("{digits}00"), digits.replacen("a5", "+5", 1), digits[2..].into()];
        for text in more.iter().chain(&[String::new(), "ä".repeat(LENGTH)]) {
            check::<false>(text, false);
            check::<true>(&format!("sha256:{text}"), false);
        }
        check::<false>(&format!("sha256:{digits}"), false);
        check::<true>(&digits, false);
        check::<true>(&format!("sha256:{}", digits.to_ascii_uppercase()), false);
        check::<true>(&format!("SHA256:{digits}"), false);
    }

    #[test]
    fn error_describes_the_expected_form() {
        let error = |no: ParseDigestError| no.to_string();
        assert_eq!(
            error(Sha256Digest::<true>::error()),
            "a digest is `sha256:` and 64 hexadecimal digits in lower case"
        );
        assert_eq!(error(Sha256Digest::<false>::error()), "a digest is 64 hexadecimal digits");
    }
}
