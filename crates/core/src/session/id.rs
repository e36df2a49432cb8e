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

impl SessionId {
    /// Returns the name of the session's file.
    pub(super) fn file_name(self) -> String {
        format!("{self}.jsonl")
    }
}

impl EntryId {
    /// Reads 32 hexadecimal digits.
    pub(super) fn from_digits(digits: &[u8; DIGITS]) -> Option<Self> {
        from_digits(digits).map(Self)
    }

    /// The upper and the lower bits.
    pub(super) const fn halves(self) -> [u64; 2] {
        [(self.0 >> 64) as u64, self.0 as u64]
    }

    /// From the upper and the lower bits.
    pub(super) const fn from_halves([upper, lower]: [u64; 2]) -> Self {
        Self((upper as u128) << 64 | lower as u128)
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
    from_digits(digits.try_into().ok()?)
}

/// Every digit is looked at before any is judged: no branch, many digits a step. Then eight at a time are put together,
/// by halves.
fn from_digits(digits: &[u8; DIGITS]) -> Option<u128> {
    /// What is no digit. No value has this bit.
    const BAD: u8 = 0x80;
    let mut values = [0; DIGITS];
    for (value, digit) in values.iter_mut().zip(digits) {
        let (number, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
        let worth = if letter < 6 { letter + 10 } else { BAD };
        *value = if number < 10 { number } else { worth };
    }
    let (eights, _) = values.as_chunks::<8>();
    let (mut id, mut all) = (0, 0);
    for eight in eights {
        let values = u64::from_be_bytes(*eight);
        all |= values;
        let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
        id = id << 32 | u128::from((fours | fours >> 16) & 0xffff_ffff);
    }
    (all & u64::from_ne_bytes([BAD; 8]) == 0).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling() {
        let id = EntryId::new();
        assert_eq!(EntryId::parse(&id.to_string()), Some(id));
        assert_eq!(
            EntryId::parse("0123456789abcdef0f1e2d3c4b5a6978").map(|id| id.0),
            Some(0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978)
        );
        for byte in 0..=u8::MAX {
            let mut digits = [b'0'; DIGITS];
            digits[DIGITS - 1] = byte;
            let expect = char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
            assert_eq!(from_hex(&digits), expect.map(u128::from), "{byte}");
        }
        assert_eq!(EntryId::from(1).to_string(), "00000000000000000000000000000001");
        for bad in [
            "",
            "1",
            "0000000000000000000000000000000A",
            "+0000000000000000000000000000001",
            "g0000000000000000000000000000000",
        ] {
            assert_eq!(EntryId::parse(bad), None, "{bad}");
        }
        assert_ne!(EntryId::new(), EntryId::new());
    }
}
