//! Retry delays, as pure functions.

use std::time::{Duration, SystemTime};

use crate::timeouts::HttpTimeouts;

/// The maximum number of attempts of a request.
pub const MAX_ATTEMPTS: u32 = 4;

/// Returns the wait after the `failed`-th attempt (counted from 1).
///
/// The delay doubles from [`HttpTimeouts::backoff_first`] up to [`HttpTimeouts::backoff_cap`]. `jitter` (0 to 1) spreads
/// it over its upper half, so that clients do not retry simultaneously. A provider's `asked` delay replaces it, up to
/// [`HttpTimeouts::retry_after_cap`].
pub fn delay(failed: u32, jitter: f64, asked: Option<Duration>, timeouts: &HttpTimeouts) -> Duration {
    if let Some(asked) = asked {
        return asked.min(timeouts.retry_after_cap);
    }
    let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
    let full = timeouts.backoff_first.saturating_mul(doubled).min(timeouts.backoff_cap);
    full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

/// Parses a `retry-after` header: seconds, or an HTTP date relative to `now`. A date in the past means no delay.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(SystemTime::from(date).duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[track_caller]
    fn check(failed: u32, jitter: f64, asked: Option<u64>, expect_ms: u64) {
        let asked = asked.map(Duration::from_secs);
        let delay = delay(failed, jitter, asked, &HttpTimeouts::default());
        assert_eq!(delay, Duration::from_millis(expect_ms));
    }

    #[test]
    fn back_off_doubles_and_is_capped() {
        check(1, 1.0, None, 500);
        check(2, 1.0, None, 1_000);
        check(3, 1.0, None, 2_000);
        check(30, 1.0, None, 8_000);
        check(u32::MAX, 1.0, None, 8_000);
    }

    #[test]
    fn jitter_spreads_over_the_upper_half() {
        check(1, 0.0, None, 250);
        check(1, 0.5, None, 375);
        check(1, 7.0, None, 500);
    }

    #[test]
    fn retry_after_overrides_back_off_up_to_a_cap() {
        check(1, 0.3, Some(0), 0);
        check(3, 0.3, Some(7), 7_000);
        check(1, 0.3, Some(3_600), 60_000);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + 784_111_777 * SECOND; // Sun, 06 Nov 1994 08:49:37 GMT
        let read = |value| retry_after(value, now);
        assert_eq!(read("7"), Some(7 * SECOND));
        assert_eq!(read(" 0 "), Some(Duration::ZERO));
        assert_eq!(read("1.5"), Some(Duration::from_millis(1_500)));
        assert_eq!(read("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30 * SECOND));
        assert_eq!(read("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        for nonsense in ["", "soon", "-3", "NaN", "1e400"] {
            assert_eq!(read(nonsense), None, "{nonsense:?}");
        }
    }
}
