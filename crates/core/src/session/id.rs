//! Ids of sessions and entries: 128 random bits, 32 hexadecimal digits on disk.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const DIGITS: usize = 32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u128);

        impl $name {
            /// Creates a unique id.
            pub fn new() -> Self {
                Self(random_bits())
            }

            /// Parses 32 lower-case hexadecimal digits.
            pub fn parse(text: &str) -> Option<Self> {
                from_hex(text).map(Self)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text).ok_or_else(|| InvalidId { text: text.chars().take(DIGITS + 1).collect() })
            }
        }

        impl From<u128> for $name {
            fn from(bits: u128) -> Self {
                Self(bits)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            /// As the digits, like [`Display`](fmt::Display).
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected 32 hexadecimal digits"))
            }
        }
    };
}

id! {
    /// The id of a session, and the name of its file.
    SessionId
}
id! {
    /// The id of one entry, in any file: a fork keeps the ids.
    EntryId
}

/// The error of a text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an id; an id has 32 lower-case hexadecimal digits")]
pub struct InvalidId {
    /// The beginning of the text, one character longer than an id.
    text: String,
}

impl EntryId {
    /// True if the session's header has the same id.
    pub(super) fn is_session(self, session: SessionId) -> bool {
        self.0 == session.0
    }
}

impl SessionId {
    pub(super) fn file_name(self) -> String {
        format!("{self}.jsonl")
    }
}

/// Returns a number from a hash that is keyed by the system's randomness, with a different input each time.
fn random_bits() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let at = NEXT.fetch_add(1, Ordering::Relaxed);
    let [high, low] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    u128::from(high.hash_one(at)) << 64 | u128::from(low.hash_one(at))
}

/// Parses lower-case digits only, so that each id has exactly one spelling.
fn from_hex(text: &str) -> Option<u128> {
    let plain = text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    u128::from_str_radix(text, 16).ok().filter(|_| plain && text.len() == DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_exactly_one_spelling() {
        let id = EntryId::new();
        assert_eq!(EntryId::parse(&id.to_string()), Some(id));
        assert_eq!(
            EntryId::parse("0123456789abcdef0f1e2d3c4b5a6978").map(|id| id.0),
            Some(0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978)
        );
        for byte in 0..=u8::MAX {
            let digits = format!("{}{}", "0".repeat(DIGITS - 1), char::from(byte));
            let expect = char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
            assert_eq!(from_hex(&digits), expect.map(u128::from), "{byte}");
        }
        assert_eq!(EntryId::from(1).to_string(), "00000000000000000000000000000001");
        assert_eq!(format!("{:?}", Some(SessionId::from(0x1f))), "Some(0000000000000000000000000000001f)");
        for bad in [
            "",
            "1",
            "0000000000000000000000000000000A",
            "+0000000000000000000000000000001",
            "g0000000000000000000000000000000",
        ] {
            assert_eq!(EntryId::parse(bad), None, "{bad}");
            assert!(bad.parse::<EntryId>().is_err(), "{bad}");
        }
        let error = "x\x1b".repeat(1000).parse::<EntryId>().unwrap_err().to_string();
        assert!(error.len() < 200 && !error.contains('\x1b'), "{error}");
        assert_ne!(EntryId::new(), EntryId::new());
    }
}
