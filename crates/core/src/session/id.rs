//! Names of sessions and of their entries: 128 random bits, 32 hexadecimal digits on disk.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Digits of an id.
pub(crate) const DIGITS: usize = 32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u128);

        impl $name {
            /// One that nobody else has.
            pub fn new() -> Self {
                Self(random())
            }

            /// Reads 32 hexadecimal digits.
            pub fn parse(text: &str) -> Option<Self> {
                from_hex(text.as_bytes()).map(Self)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
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
    /// The name of a session, and of its file.
    SessionId
}
id! {
    /// The name of one entry, in whichever file it stands: a fork keeps the names.
    EntryId
}

impl EntryId {
    /// Reads 32 hexadecimal digits.
    pub(super) fn from_hex(digits: &[u8]) -> Option<Self> {
        from_hex(digits).map(Self)
    }
}

/// Keyed by the system's randomness, and never asked the same twice.
fn random() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let at = NEXT.fetch_add(1, Ordering::Relaxed);
    let [high, low] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    u128::from(high.hash_one(at)) << 64 | u128::from(low.hash_one(at))
}

/// Lower case only, as they are written: one id has one spelling.
fn from_hex(digits: &[u8]) -> Option<u128> {
    let (high, low) = digits.split_at_checked(DIGITS / 2).filter(|(_, low)| low.len() == DIGITS / 2)?;
    // Every digit is looked at before any is judged, which leaves no branch in the loop.
    let half = |digits: &[u8]| {
        digits.iter().fold((0_u64, 0_u8), |(bits, bad), digit| {
            let value = VALUES.get(usize::from(*digit)).copied().unwrap_or(BAD);
            (bits << 4 | u64::from(value & 0xf), bad | value)
        })
    };
    let ((high, bad), (low, worse)) = (half(high), half(low));
    ((bad | worse) & BAD == 0).then_some(u128::from(high) << 64 | u128::from(low))
}

/// No digit.
const BAD: u8 = 0x80;

/// What each byte is worth as a digit.
const VALUES: [u8; 256] = {
    let (mut values, mut value) = ([BAD; 256], 0);
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling() {
        let id = EntryId::new();
        assert_eq!(EntryId::parse(&id.to_string()), Some(id));
        assert_eq!(EntryId::from(1).to_string(), "00000000000000000000000000000001");
        for bad in ["", "1", "0000000000000000000000000000000A", "+0000000000000000000000000000001"] {
            assert_eq!(EntryId::parse(bad), None, "{bad}");
        }
        assert_ne!(EntryId::new(), EntryId::new());
    }
}
