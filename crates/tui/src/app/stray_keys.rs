//! Keys that were meant for a closed dialog.

use std::time::Instant;

use crate::keys::Chord;
use crate::timeouts::QUIET;

/// Words that people type although their first letter is the answer.
const WORDS: &[&str] = &["yes", "no", "allow"];

/// A filter for keys that were meant for a closed dialog. It ignores keys that follow without a pause.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StrayKeys {
    until: Instant,
    filter: StrayKeyFilter,
}

#[derive(Debug, PartialEq, Eq)]
enum StrayKeyFilter {
    /// The dialog closed unanswered: all keys were meant for it.
    Everything,
    /// The first letter answered the dialog: the rest of the word and enter are ignored.
    RestOf(String),
}

impl StrayKeys {
    pub(super) fn after_close(now: Instant) -> Self {
        Self { until: now + QUIET, filter: StrayKeyFilter::Everything }
    }

    pub(super) fn after_answer(chord: Chord, now: Instant) -> Option<Self> {
        let begun = chord.typed_char()?.to_lowercase().to_string();
        let is_word = WORDS.iter().any(|word| word.starts_with(&begun));
        is_word.then(|| Self { until: now + QUIET, filter: StrayKeyFilter::RestOf(begun) })
    }

    pub(super) fn is_after_close(&self) -> bool {
        self.filter == StrayKeyFilter::Everything
    }

    pub(super) fn is_active(&self, now: Instant) -> bool {
        now < self.until
    }

    /// True if the key was meant for the closed dialog. The first other key ends the filter.
    pub(super) fn consumes_key(&mut self, chord: Chord, now: Instant) -> bool {
        if !self.is_active(now) {
            return false;
        }
        let takes = match &mut self.filter {
            StrayKeyFilter::Everything => true,
            StrayKeyFilter::RestOf(begun) => match chord.typed_char() {
                Some(c) => {
                    begun.extend(c.to_lowercase());
                    WORDS.iter().any(|word| word.starts_with(begun.as_str()))
                }
                None => chord.key() == crate::keys::ChordKey::Enter,
            },
        };
        if takes {
            self.until = now + QUIET;
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Checks which keys, each typed at a time in milliseconds, are consumed.
    #[track_caller]
    fn check(answer: Option<&str>, keys: &[(&str, u64, bool)]) {
        let start = Instant::now();
        let mut late = match answer {
            Some(key) => StrayKeys::after_answer(key.parse().unwrap(), start).unwrap(),
            None => StrayKeys::after_close(start),
        };
        for (key, millis, expect) in keys {
            let at = start + Duration::from_millis(*millis);
            assert_eq!(late.consumes_key(key.parse().unwrap(), at), *expect, "{key} at {millis}");
        }
    }

    #[test]
    fn consumes_keys_until_a_pause() {
        check(None, &[("p", 100, true), ("enter", 350, true), ("esc", 600, true), ("x", 900, false)]);
        check(None, &[("x", 300, false)]);
    }

    #[test]
    fn consumes_only_the_rest_of_the_word() {
        check(Some("y"), &[("e", 50, true), ("s", 100, true), ("enter", 200, true)]);
        check(Some("Y"), &[("E", 50, true), ("S", 100, true), ("t", 150, false)]);
        check(Some("n"), &[("o", 299, true), ("enter", 600, false)]);
        check(Some("y"), &[("y", 50, false)]);
        check(Some("y"), &[("e", 300, false)]);
        assert_eq!(StrayKeys::after_answer("enter".parse().unwrap(), Instant::now()), None);
        assert_eq!(StrayKeys::after_answer("x".parse().unwrap(), Instant::now()), None);
    }
}
