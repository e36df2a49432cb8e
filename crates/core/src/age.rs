//! Ages, for lists that people read.

use std::time::{Duration, SystemTime};

/// Returns the age as a short text, such as `3 h ago`.
pub fn age_text(now: SystemTime, then: SystemTime) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match now.duration_since(then).unwrap_or(Duration::ZERO).as_secs() {
        ..MINUTE => "just now".to_owned(),
        seconds @ ..HOUR => format!("{} min ago", seconds / MINUTE),
        seconds @ ..DAY => format!("{} h ago", seconds / HOUR),
        seconds => format!("{} d ago", seconds / DAY),
    }
}

/// Returns the age of a time stamp. A text that is not a time stamp is returned unchanged.
pub fn age_of_stamp(now: SystemTime, stamp: &str) -> String {
    match stamp.parse::<jiff::Timestamp>() {
        Ok(then) => age_text(now, then.into()),
        Err(_) => stamp.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_age_in_largest_unit() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let ago = |seconds| age_text(now, now - Duration::from_secs(seconds));
        assert_eq!(
            [59, 60, 3599, 3600, 86_399, 86_400].map(ago),
            ["just now", "1 min ago", "59 min ago", "1 h ago", "23 h ago", "1 d ago"]
        );
        assert_eq!(age_text(now, now + Duration::from_secs(5)), "just now", "the clock was set back");
    }

    #[test]
    fn reads_time_stamps() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(7_200);
        assert_eq!(age_of_stamp(now, "1970-01-01T01:00:00Z"), "1 h ago");
        assert_eq!(age_of_stamp(now, "1970-01-01T01:59:00.250Z"), "just now");
        assert_eq!(age_of_stamp(now, "T"), "T");
    }
}
