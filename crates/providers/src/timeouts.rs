//! All durations of this crate.

use std::time::Duration;

/// The time for which a fallback model is tried before the preferred one.
pub(crate) const FALLBACK_REST: Duration = Duration::from_secs(300);

/// The time limits of requests. The defaults suit people at a terminal; tests shorten the delays between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpTimeouts {
    /// Limit for establishing a TCP and TLS connection.
    pub connect: Duration,
    /// Limit between two reads of an answer. Long, because a local model may process a long prompt without output.
    pub idle: Duration,
    /// Limit for one request with all its attempts. An answer of 128,000 tokens takes 45 minutes at 48 tokens a second.
    pub request: Duration,
    /// Delay before the second attempt; doubles for each further one.
    pub backoff_first: Duration,
    /// The maximum back-off delay.
    pub backoff_cap: Duration,
    /// The maximum accepted `retry-after` delay of a provider.
    pub retry_after_cap: Duration,
    /// Limit for a connection to a local port, to detect a local server.
    pub probe: Duration,
    /// Limit for a local server to list its models.
    pub probe_models: Duration,
    /// Limit for a provider to verify a key.
    pub probe_key: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(600),
            request: Duration::from_secs(3600),
            backoff_first: Duration::from_millis(500),
            backoff_cap: Duration::from_secs(8),
            retry_after_cap: Duration::from_secs(60),
            probe: Duration::from_millis(150),
            probe_models: Duration::from_secs(2),
            probe_key: Duration::from_secs(20),
        }
    }
}
