//! Numbers and durations for display.

use std::time::Duration;

/// Formats a duration as `12s`, `3m 04s` or `1h 02m`.
pub(crate) fn format_seconds(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

/// Formats a duration like [`format_seconds`], with tenths below 10 s. `None` if it is too short to notice.
pub(crate) fn format_elapsed(time: Duration) -> Option<String> {
    match (time.as_secs(), time.subsec_millis() / 100) {
        (0, 0) => None,
        (whole @ 0..10, tenths @ 1..) => Some(format!("{whole}.{tenths}s")),
        (whole, _) => Some(format_seconds(whole)),
    }
}

/// Formats a number as `812`, `34k` or `1.2M`.
pub(crate) fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}
