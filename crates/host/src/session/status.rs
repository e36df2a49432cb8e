//! Status-line items of an extension: the last change of each item counts. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use haft_core::sanitize::sanitize;
use haft_protocol::ext::{Limits, SetStatus, StatusText, StyledSpan};
use haft_protocol::limits::MAX_STATUS_SPANS;
use haft_protocol::names;

use super::offers::excerpt;
use super::rates::TokenBucket;

/// The status items of one extension. Memory is bounded by the number of items that are shown or about to
/// disappear.
#[derive(Debug)]
pub(super) struct StatusItemQueue {
    bucket: TokenBucket,
    latest: BTreeMap<String, StatusText>,
    shown: BTreeMap<String, StatusText>,
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
        let SetStatus { key, text, styled } = status;
        if !names::is_command(&key, limits.max_name) {
            let (key, longest) = (excerpt(&key), limits.max_name);
            return Err(format!("status item {key:?}: a key is 1 to {longest} letters, digits, '_' or '-'"));
        }
        if styled.len() > MAX_STATUS_SPANS {
            let parts = styled.len();
            return Err(format!("status item {key}: {parts} parts; the limit is {MAX_STATUS_SPANS}"));
        }
        let text = match styled.is_empty() {
            true => single_line(&text, limits.max_status_text).as_str().into(),
            false => styled_line(&styled, limits.max_status_text),
        };
        if text.text.is_empty() {
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
        let now = self.latest.get(&key).cloned();
        match &now {
            Some(text) => self.shown.insert(key.clone(), text.clone()),
            None => self.shown.remove(&key),
        };
        let StatusText { text, styled } = now.unwrap_or_default();
        SetStatus { key, text, styled }
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

/// Returns parts as one line of at most this number of characters, without control characters. White space between
/// words is one blank, also between two parts.
fn styled_line(parts: &[StyledSpan], longest: usize) -> StatusText {
    let mut chars: Vec<(char, &StyledSpan)> = Vec::new();
    let mut after_space = false;
    for part in parts {
        for c in sanitize(&part.text).chars() {
            if c.is_whitespace() {
                after_space = !chars.is_empty();
            } else if chars.len() <= longest {
                chars.extend(std::mem::take(&mut after_space).then_some((' ', part)));
                chars.push((c, part));
            }
        }
    }
    if chars.len() > longest {
        chars.truncate(longest);
        chars.last_mut().into_iter().for_each(|(c, _)| *c = '…');
    }
    let runs = chars.chunk_by(|(_, one), (_, other)| std::ptr::eq(*one, *other));
    let styled = runs.filter_map(|run| {
        let text = run.iter().map(|(c, _)| c).collect();
        run.first().map(|(_, part)| StyledSpan { text, fg: part.fg, bold: part.bold })
    });
    StatusText { text: chars.iter().map(|(c, _)| c).collect(), styled: styled.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::ext::SpanColor;
    use std::time::Duration;

    fn item(key: &str, text: &str) -> SetStatus {
        SetStatus { key: key.into(), text: text.into(), styled: Vec::new() }
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

    #[track_caller]
    fn check_styled(parts: &[StyledSpan], longest: usize, expect: &[&str]) {
        let line = styled_line(parts, longest);
        let texts: Vec<&str> = line.styled.iter().map(|part| part.text.as_str()).collect();
        assert_eq!((texts, line.text), (expect.to_vec(), expect.concat()));
        let looks = |parts: &[StyledSpan]| parts.iter().map(|part| (part.fg, part.bold)).collect::<Vec<_>>();
        assert_eq!(looks(&line.styled), looks(parts)[..line.styled.len()]);
    }

    #[test]
    fn styled_parts_become_short_line() {
        let warning = |text: &str| StyledSpan::new(text).with_color(SpanColor::Warning);
        let bold = |text: &str| StyledSpan::new(text).with_bold();
        check_styled(&[warning(" 3"), bold("\n open  now \t")], 80, &["3", " open now"]);
        check_styled(&[warning("3 "), bold("open")], 80, &["3", " open"]);
        check_styled(&[warning("\u{1b}[31mred\u{1b}[0m"), bold("\u{7}")], 80, &["red"]);
        check_styled(&[warning("1234"), bold("5678")], 8, &["1234", "5678"]);
        check_styled(&[warning("1234"), bold("56789")], 8, &["1234", "567…"]);
        check_styled(&[warning("1234"), bold("5678")], 4, &["123…"]);
        check_styled(&[warning(" \n")], 8, &[]);
    }

    #[test]
    fn styled_text_counts_and_is_bounded() {
        let (start, limits) = (Instant::now(), limits());
        let mut status = StatusItemQueue::new(&limits);
        let styled =
            |count: usize| SetStatus { styled: vec![StyledSpan::new("x"); count], ..item("a", "plain") };
        let shown = status.set(styled(2), &limits, start).unwrap().unwrap();
        assert_eq!((shown.text.as_str(), shown.styled.len()), ("xx", 2));
        let error = status.set(styled(17), &limits, start).unwrap_err();
        assert_eq!(error, "status item a: 17 parts; the limit is 16");
    }

    #[test]
    fn text_becomes_short_line() {
        let lines =
            ["a\n\tb", "12345678", "123456789", &"x ".repeat(1000), " \n"].map(|text| single_line(text, 8));
        assert_eq!(lines, ["a b", "12345678", "1234567…", "x x x x…", ""]);
    }
}
