//! Pastes in a terminal without bracketed paste: a burst of keys.
//!
//! Such a paste arrives as keys, and each of its newlines would send a prompt. [`BurstJoiner`] makes one paste of keys
//! that arrive together and have a newline before other text. No person types so fast.

use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::timeouts;

/// Joins the keys of a paste.
#[derive(Debug, Default)]
pub(super) struct BurstJoiner {
    /// The text of a paste whose end is not known yet.
    held: String,
    last_at: Option<Instant>,
}

impl BurstJoiner {
    /// Takes the events that arrived together and returns those to handle now.
    pub(super) fn join_keys(&mut self, now: Instant, events: Vec<Event>) -> Vec<Event> {
        let mut joined = Vec::new();
        if self.ends_at().is_some_and(|at| at <= now) {
            joined.extend(self.finish_paste());
        }
        let mut run = Vec::new();
        for event in events {
            if typed_char(&event).is_some() {
                run.push(event);
                continue;
            }
            self.end_run(now, std::mem::take(&mut run), &mut joined);
            joined.extend(self.finish_paste());
            joined.push(event);
        }
        self.end_run(now, run, &mut joined);
        joined
    }

    /// Returns the time at which a held paste is complete.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        self.last_at.map(|at| at + timeouts::PASTE_REST)
    }

    /// Returns the held paste.
    pub(super) fn finish_paste(&mut self) -> Option<Event> {
        self.last_at.take().map(|_| Event::Paste(std::mem::take(&mut self.held)))
    }

    fn end_run(&mut self, now: Instant, run: Vec<Event>, joined: &mut Vec<Event>) {
        let text: String = run.iter().filter_map(typed_char).collect();
        let is_paste = self.last_at.is_some() || text.trim_end_matches('\n').contains('\n');
        if is_paste && !text.is_empty() {
            self.held.push_str(&text);
            self.last_at = Some(now);
        } else {
            joined.extend(run);
        }
    }
}

/// Returns the character that a key types. Terminals send a newline as `enter` or `ctrl+j`.
fn typed_char(event: &Event) -> Option<char> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let is_plain = (*modifiers - KeyModifiers::SHIFT).is_empty();
    match (code, is_plain) {
        (KeyCode::Char(c), true) => Some(*c),
        (KeyCode::Char('j'), false) if *modifiers == KeyModifiers::CONTROL => Some('\n'),
        (KeyCode::Enter, true) if modifiers.is_empty() => Some('\n'),
        (KeyCode::Tab, true) if modifiers.is_empty() => Some('\t'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn keys(text: &str) -> Vec<Event> {
        let code = |c| match c {
            '\n' => KeyCode::Enter,
            c => KeyCode::Char(c),
        };
        text.chars().map(|c| Event::Key(KeyEvent::new(code(c), KeyModifiers::NONE))).collect()
    }

    fn paste(text: &str) -> Event {
        Event::Paste(text.to_owned())
    }

    #[test]
    fn typed_line_passes_at_once() {
        let (mut joiner, now) = (BurstJoiner::default(), Instant::now());
        for text in ["a", "hello\n", "\n", "\n\n"] {
            assert_eq!(joiner.join_keys(now, keys(text)), keys(text), "{text:?}");
        }
        assert_eq!(joiner.ends_at(), None);
    }

    #[test]
    fn lines_in_several_reads_become_one_paste() {
        let (mut joiner, now) = (BurstJoiner::default(), Instant::now());
        let soon = now + timeouts::PASTE_REST / 2;
        assert_eq!(joiner.join_keys(now, keys("one\ntwo")), []);
        assert_eq!(joiner.join_keys(soon, keys("\n")), [], "the newline is part of the paste");
        assert_eq!(joiner.join_keys(soon, keys("three\n")), []);
        let end = joiner.ends_at().unwrap();
        assert_eq!(end, soon + timeouts::PASTE_REST);
        assert_eq!(joiner.finish_paste(), Some(paste("one\ntwo\nthree\n")));
        assert_eq!(joiner.ends_at(), None);
        assert_eq!(joiner.join_keys(end, keys("x\n")), keys("x\n"));
    }

    #[test]
    fn other_key_or_pause_ends_the_paste() {
        let (mut joiner, now) = (BurstJoiner::default(), Instant::now());
        let escape = Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        let mut events = keys("a\nb");
        events.push(escape.clone());
        events.extend(keys("c"));
        let mut expect = vec![paste("a\nb"), escape];
        expect.extend(keys("c"));
        assert_eq!(joiner.join_keys(now, events), expect);
        assert_eq!(joiner.join_keys(now, keys("d\ne")), []);
        let later = now + timeouts::PASTE_REST + Duration::from_millis(1);
        assert_eq!(joiner.join_keys(later, keys("f")), [vec![paste("d\ne")], keys("f")].concat());
    }

    #[test]
    fn shifted_letters_belong_to_the_paste_and_shortcuts_do_not() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        assert_eq!(typed_char(&key(KeyCode::Char('A'), KeyModifiers::SHIFT)), Some('A'));
        assert_eq!(typed_char(&key(KeyCode::Char('j'), KeyModifiers::CONTROL)), Some('\n'));
        assert_eq!(typed_char(&key(KeyCode::Char('c'), KeyModifiers::CONTROL)), None);
        assert_eq!(typed_char(&key(KeyCode::Enter, KeyModifiers::ALT)), None);
    }
}
