//! Status-line items of an extension: the last change of each item counts. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use haft_protocol::ext::{Limits, SetStatus};
use haft_protocol::names;

use super::offers::excerpt;
use super::rates::TokenBucket;

/// The status items of one extension. Memory is bounded by the number of items that are shown or about to
/// disappear.
#[derive(Debug)]
pub(super) struct StatusItemQueue {
    bucket: TokenBucket,
    latest: BTreeMap<String, String>,
    shown: BTreeMap<String, String>,
    /// The items with a waiting change, in the order in which they are shown.
    waiting: VecDeque<String>,
    at: Option<Instant>,
}

impl StatusItemQueue {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            bucket: TokenBucket::new(limits.notes_per_second, limits.note_burst),
            latest: BTreeMap::new(),
            shown: BTreeMap::new(),
            waiting: VecDeque::new(),
            at: None,
        }
    }

    /// Accepts a change. Returns it, sanitized, if it must be shown immediately. The error names the violated
    /// rule.
    pub(super) fn set(
        &mut self,
        status: SetStatus,
        limits: &Limits,
        now: Instant,
    ) -> Result<Option<SetStatus>, String> {
        let SetStatus { key, text } = status;
        if !names::is_command(&key, limits.max_name) {
            let (key, longest) = (excerpt(&key), limits.max_name);
            return Err(format!("status item {key:?}: a key is 1 to {longest} letters, digits, '_' or '-'"));
        }
        let text = single_line(&text, limits.max_status_text);
        if text.is_empty() {
            self.latest.remove(&key);
        } else if self.latest.contains_key(&key) || self.latest.len() < limits.max_status_items {
            self.latest.insert(key.clone(), text);
        } else {
            return Err(format!("status item {key}: the limit is {} items", limits.max_status_items));
        }
        Ok(self.queue_change(key, now))
    }

    /// Returns the time at which [`take_due`](Self::take_due) returns a change.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.at
    }

    /// Takes a change whose time has come.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<SetStatus> {
        self.at.filter(|at| *at <= now)?;
        match self.bucket.take(now) {
            Ok(()) => {
                let key = self.waiting.pop_front();
                self.at = (!self.waiting.is_empty()).then_some(now);
                key.map(|key| self.show(key))
            }
            Err(at) => {
                self.at = Some(at);
                None
            }
        }
    }

    fn queue_change(&mut self, key: String, now: Instant) -> Option<SetStatus> {
        let waits = self.waiting.contains(&key);
        if self.latest.get(&key) == self.shown.get(&key) {
            // The shown text equals the new one, so the waiting change is obsolete.
            self.waiting.retain(|waiting| *waiting != key);
            self.at = self.at.filter(|_| !self.waiting.is_empty());
            return None;
        }
        if waits {
            return None;
        }
        if self.waiting.is_empty() {
            match self.bucket.take(now) {
                Ok(()) => return Some(self.show(key)),
                Err(at) => self.at = Some(at),
            }
        }
        self.waiting.push_back(key);
        None
    }

    fn show(&mut self, key: String) -> SetStatus {
        let text = match self.latest.get(&key) {
            Some(text) => {
                self.shown.insert(key.clone(), text.clone());
                text.clone()
            }
            None => {
                self.shown.remove(&key);
                String::new()
            }
        };
        SetStatus { key, text }
    }
}

/// Returns a text as one line of at most this number of characters.
fn single_line(text: &str, longest: usize) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        if line.len() > longest.saturating_mul(4) {
            break;
        }
        line.push(' ');
        line.push_str(word);
    }
    match line.char_indices().nth(longest) {
        None => line,
        Some(_) => line.chars().take(longest.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn item(key: &str, text: &str) -> SetStatus {
        SetStatus { key: key.into(), text: text.into() }
    }

    fn limits() -> Limits {
        Limits {
            notes_per_second: 10,
            note_burst: 1,
            max_status_items: 2,
            max_status_text: 8,
            ..Limits::default()
        }
    }

    #[test]
    fn shows_last_text_of_each_item_at_deadline() {
        let (start, limits) = (Instant::now(), limits());
        let mut status = StatusItemQueue::new(&limits);
        let set =
            |status: &mut StatusItemQueue, key: &str, text: &str| status.set(item(key, text), &limits, start);
        assert_eq!(set(&mut status, "a", "one"), Ok(Some(item("a", "one"))));
        assert_eq!(set(&mut status, "a", "one"), Ok(None), "nothing has changed");
        assert_eq!(set(&mut status, "a", "two"), Ok(None));
        assert_eq!(set(&mut status, "b", "1"), Ok(None));
        assert_eq!(set(&mut status, "a", "three"), Ok(None));
        let at = start + Duration::from_millis(100);
        assert_eq!(status.deadline(), Some(at));
        assert_eq!(status.take_due(at - Duration::from_millis(1)), None);
        assert_eq!(status.take_due(at), Some(item("a", "three")));
        assert_eq!(set(&mut status, "b", ""), Ok(None), "it is gone before anybody has seen it");
        assert_eq!((status.take_due(at), status.deadline()), (None, None));
        assert_eq!(status.set(item("a", ""), &limits, at + Duration::from_secs(1)), Ok(Some(item("a", ""))));
    }

    #[test]
    fn checks_key_and_number_of_items() {
        let (start, limits) = (Instant::now(), limits());
        let mut status = StatusItemQueue::new(&limits);
        let mut set = |key: &str, text: &str| status.set(item(key, text), &limits, start).map(drop);
        assert_eq!(
            set("a b", "x").unwrap_err(),
            "status item \"a b\": a key is 1 to 64 letters, digits, '_' or '-'"
        );
        assert_eq!((set("a", "x"), set("b", "x")), (Ok(()), Ok(())));
        assert_eq!(set("c", "x").unwrap_err(), "status item c: the limit is 2 items");
        assert_eq!((set("c", ""), set("a", ""), set("c", "x")), (Ok(()), Ok(()), Ok(())));
    }

    #[test]
    fn text_becomes_short_line() {
        let lines =
            ["a\n\tb", "12345678", "123456789", &"x ".repeat(1000), " \n"].map(|text| single_line(text, 8));
        assert_eq!(lines, ["a b", "12345678", "1234567…", "x x x x…", ""]);
    }
}
