//! Request ids that one extension cannot guess for another's connection.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ids::RequestId;

/// The digits of the largest number.
const DIGITS: usize = 20;

/// Counts the requests of one connection behind a prefix that only its two ends know.
#[derive(Debug)]
pub(crate) struct RequestIdGenerator {
    prefix: String,
    next: AtomicU64,
}

impl RequestIdGenerator {
    /// Ids with this prefix, counted from 1.
    pub(crate) fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), next: AtomicU64::new(1) }
    }

    pub(crate) fn counted_from(first: u64) -> Self {
        Self { prefix: String::new(), next: AtomicU64::new(first) }
    }

    /// Ids with a prefix of 128 bits that nobody can guess.
    pub(crate) fn random() -> Self {
        Self::new(format!("{:016x}{:016x}-", random_number(), random_number()))
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next.fetch_add(u64::from(is_up(Defence::UniqueIds)), Ordering::Relaxed)
    }

    pub(crate) fn request_id(&self, number: u64) -> RequestId {
        let mut text = String::with_capacity(self.prefix.len() + DIGITS);
        text.push_str(&self.prefix);
        // Writing into a string cannot fail.
        _ = write!(text, "{number}");
        RequestId::new(text)
    }
}

/// A number that nobody can guess.
pub(crate) fn random_number() -> u64 {
    // The standard library seeds this keyed hash from the operating system, once a process; hashing a counter with it
    // gives numbers that tell nothing about each other.
    static KEY: OnceLock<RandomState> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    KEY.get_or_init(RandomState::new).hash_one(NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_never_collide_and_share_no_prefix_between_connections() {
        let (one, two) = (RequestIdGenerator::random(), RequestIdGenerator::random());
        let ids: HashSet<RequestId> = (0..50_000)
            .flat_map(|_| [one.request_id(one.next_number()), two.request_id(two.next_number())])
            .collect();
        assert_eq!(ids.len(), 100_000);
        assert_ne!(one.prefix, two.prefix);
        assert_eq!(one.prefix.len(), 33);
    }
}
