//! The quiet period before a dialog that grants something accepts keys.

use std::time::Instant;

use crate::timeouts::QUIET;

/// The quiet period before a dialog that grants something accepts keys: visible and without input for [`QUIET`]. An
/// earlier key is ignored and restarts the period. So a person who types while the dialog appears, or holds a key
/// down, never answers it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct QuietPeriod {
    seen: Option<Instant>,
    ignored: Option<Instant>,
}

impl QuietPeriod {
    /// Records a drawing. A dialog that is too small to be read counts as not visible.
    pub(super) fn mark_drawn(&mut self, readable: bool, now: Instant) {
        self.seen = readable.then(|| self.seen.unwrap_or(now));
    }

    /// Restarts the time for which the dialog has been visible.
    pub(super) fn restart(&mut self, now: Instant) {
        self.seen = self.seen.map(|_| now);
    }

    pub(super) fn mark_hidden(&mut self) {
        self.seen = None;
    }

    pub(super) fn accepts_key(&mut self, now: Instant) -> bool {
        let quiet_for = |since: Option<Instant>| since.map(|since| now.saturating_duration_since(since));
        let seen = quiet_for(self.seen).is_some_and(|time| time >= QUIET);
        let counts = seen && quiet_for(self.ignored).is_none_or(|time| time >= QUIET);
        if !counts {
            self.ignored = Some(now);
        }
        counts
    }
}

/// The reason why a key is not an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyHint {
    /// The key came before the dialog was visible long enough, or too soon after another key.
    Early,
    Unknown,
    /// A second press stops the turn.
    StopAgain,
}

impl KeyHint {
    /// Returns the message, which precedes the help for the keys.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Early => "too early, press again: ",
            Self::Unknown => "unknown key: ",
            Self::StopAgain => "esc again to stop the turn · ",
        }
    }
}

/// A hint that expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimedHint {
    pub(super) hint: KeyHint,
    pub(super) until: Instant,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Checks which keys count, for drawings and keys at these milliseconds.
    #[track_caller]
    fn check(drawn_at: &[u64], keys: &[(u64, bool)]) {
        let (start, mut quiet) = (Instant::now(), QuietPeriod::default());
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut drawn_at = drawn_at.iter().peekable();
        for (key, expect) in keys {
            while let Some(drawn) = drawn_at.next_if(|drawn| **drawn <= *key) {
                quiet.mark_drawn(true, at(*drawn));
            }
            assert_eq!(quiet.accepts_key(at(*key)), *expect, "at {key}");
        }
    }

    #[test]
    fn accepts_key_after_quiet_period() {
        check(&[0], &[(300, true)]);
        check(&[0, 16, 290], &[(300, true), (301, true)]);
        check(&[0], &[(299, false)]);
        check(&[], &[(5000, false)]);
        check(&[1000], &[(1299, false), (1600, true)]);
    }

    #[test]
    fn continued_typing_does_not_answer() {
        check(&[50], &[(0, false), (100, false), (320, false), (500, false), (799, false), (1099, true)]);
        check(&[0], &[(100, false), (350, false), (660, true), (670, true)]);
    }

    #[test]
    fn unreadable_dialog_accepts_no_key() {
        let (start, mut quiet) = (Instant::now(), QuietPeriod::default());
        quiet.mark_drawn(false, start);
        assert!(!quiet.accepts_key(start + 2 * QUIET));
        quiet.mark_drawn(true, start + 2 * QUIET);
        quiet.mark_drawn(false, start + 4 * QUIET);
        assert!(!quiet.accepts_key(start + 5 * QUIET));
        quiet.mark_drawn(true, start + 5 * QUIET);
        assert!(quiet.accepts_key(start + 6 * QUIET));
    }
}
