//! Every duration of this crate.

use std::time::Duration;

/// The time that a substitute model is asked before the first one.
pub(crate) const FALLBACK_REST: Duration = Duration::from_secs(300);

/// The deadlines of requests. The defaults are for people at a terminal; tests shorten the waits between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a TCP and TLS connection stands.
    pub connect: Duration,
    /// Between two reads of an answer. Long, because a local model may read a long prompt without a word.
    pub idle: Duration,
    /// Wait before the second attempt; doubled for each further one.
    pub backoff_first: Duration,
    /// The longest wait that back-off alone gives.
    pub backoff_cap: Duration,
    /// The longest wait that a provider's `retry-after` is granted.
    pub retry_after_cap: Duration,
    /// For a connection to a port of this machine, to learn whether a local server listens there.
    pub probe: Duration,
    /// For a local server to list its models.
    pub probe_models: Duration,
    /// For a provider to say whether it takes a key.
    pub probe_key: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(600),
            backoff_first: Duration::from_millis(500),
            backoff_cap: Duration::from_secs(8),
            retry_after_cap: Duration::from_secs(60),
            probe: Duration::from_millis(150),
            probe_models: Duration::from_secs(2),
            probe_key: Duration::from_secs(20),
        }
    }
}
