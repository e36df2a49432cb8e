//! Numbers and durations, as people read them.

use std::time::Duration;

/// `12s`, `3m 04s`, `1h 02m`
pub(crate) fn format_seconds(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

/// The same, and `0.4s`; nothing for what is over before anybody looks.
pub(crate) fn format_elapsed(time: Duration) -> Option<String> {
    match (time.as_secs(), time.subsec_millis() / 100) {
        (0, 0) => None,
        (whole @ 0..10, tenths @ 1..) => Some(format!("{whole}.{tenths}s")),
        (whole, _) => Some(format_seconds(whole)),
    }
}

/// `812`, `34k`, `1.2M`
pub(crate) fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}
