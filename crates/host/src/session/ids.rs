//! Request ids that an extension cannot guess for another connection.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::RequestId;

/// The number of digits of the largest number.
const DIGITS: usize = 20;

/// Numbers the requests of one connection, with a prefix that only its two ends know.
#[derive(Debug)]
pub(crate) struct RequestIdGenerator {
    prefix: String,
    next: AtomicU64,
}

impl RequestIdGenerator {
    /// Returns a generator with this prefix that counts from 1.
    pub(crate) fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), next: AtomicU64::new(1) }
    }

    pub(crate) fn counted_from(first: u64) -> Self {
        Self { prefix: String::new(), next: AtomicU64::new(first) }
    }

    /// Returns a generator with an unpredictable prefix of 128 bits.
    pub(crate) fn with_random_prefix() -> Self {
        Self::new(format!("{:016x}{:016x}-", random_number(), random_number()))
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next.fetch_add(u64::from(is_up(Defense::UniqueIds)), Ordering::Relaxed)
    }

    pub(crate) fn request_id(&self, number: u64) -> RequestId {
        let mut text = String::with_capacity(self.prefix.len() + DIGITS);
        text.push_str(&self.prefix);
        // Writing to a string cannot fail.
        _ = write!(text, "{number}");
        RequestId::new(text)
    }
}

/// Returns an unpredictable number.
pub(crate) fn random_number() -> u64 {
    // The standard library seeds this keyed hash from the operating system once for each process. Hashes of a
    // counter give unrelated numbers.
    static KEY: OnceLock<RandomState> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    KEY.get_or_init(RandomState::new).hash_one(NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_prefixes_differ() {
        let (one, two) = (RequestIdGenerator::with_random_prefix(), RequestIdGenerator::with_random_prefix());
        let ids: HashSet<RequestId> = (0..50_000)
            .flat_map(|_| [one.request_id(one.next_number()), two.request_id(two.next_number())])
            .collect();
        assert_eq!(ids.len(), 100_000);
        assert_ne!(one.prefix, two.prefix);
        assert_eq!(one.prefix.len(), 33);
    }
}
