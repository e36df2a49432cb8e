//! The terminal's reply about its background (OSC 11).
//!
//! The reply arrives as keys: `alt+]`, `1`, `1`, `;`, `r`, … up to `alt+\` or `ctrl+g`. [`BackgroundReplyParser`]
//! removes it from the events and keeps the others in their order. So it never becomes text in the editor, even if it
//! is late.

use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::theme::Appearance;
use crate::timeouts;

/// The query.
pub(super) const QUESTION: &str = "\x1b]11;?\x1b\\";

/// The beginning of each reply. After it, the input can only be a reply.
const BEGIN: &str = "]11;";

/// The maximum number of characters of a reply.
const MOST: usize = 64;

/// Removes the reply from the events.
#[derive(Debug, Default)]
pub(super) struct BackgroundReplyParser {
    expected_until: Option<Instant>,
    /// The possible reply so far, as text without the escape, and as events.
    text: String,
    held: Vec<Event>,
    last_at: Option<Instant>,
}

/// An event as a part of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyToken {
    /// Escape alone: the rest of the sequence may come later.
    Escape,
    /// A character after an escape.
    Escaped(char),
    Char(char),
    Bell,
    Other,
}

/// The result for an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReplyOutcome {
    pub(super) events: Vec<Event>,
    pub(super) appearance: Option<Appearance>,
}

impl BackgroundReplyParser {
    pub(super) fn expect_reply(&mut self, now: Instant) {
        self.expected_until = Some(now + timeouts::REPLY_EXPECTED);
    }

    pub(super) fn feed_event(&mut self, now: Instant, event: Event) -> ReplyOutcome {
        let part = reply_token(&event);
        if self.held.is_empty() {
            let expected = self.expected_until.is_some_and(|until| now < until);
            let begins = matches!(part, ReplyToken::Escape | ReplyToken::Escaped(']'));
            return if expected && begins {
                self.hold_event(now, part, event);
                ReplyOutcome::default()
            } else {
                ReplyOutcome { events: vec![event], appearance: None }
            };
        }
        let is_key = matches!(event, Event::Key(_));
        match part {
            // Resizes and clicks in between do not belong to the reply.
            _ if !is_key => ReplyOutcome { events: vec![event], appearance: None },
            ReplyToken::Bell | ReplyToken::Escaped('\\') if self.has_prefix() => self.finish_reply(),
            ReplyToken::Char('\\') if self.has_prefix() && self.text.ends_with('\x1b') => self.finish_reply(),
            ReplyToken::Escape if self.has_prefix() => {
                self.hold_event(now, part, event);
                ReplyOutcome::default()
            }
            ReplyToken::Char(c) if self.accepts_char(c) => {
                self.hold_event(now, part, event);
                ReplyOutcome::default()
            }
            ReplyToken::Escape
            | ReplyToken::Escaped(_)
            | ReplyToken::Char(_)
            | ReplyToken::Bell
            | ReplyToken::Other => {
                let mut events = self.give_up();
                events.push(event);
                ReplyOutcome { events, appearance: None }
            }
        }
    }

    pub(super) fn gives_up_at(&self) -> Option<Instant> {
        let patience = if self.has_prefix() { timeouts::REPLY_REST } else { timeouts::REPLY_BEGIN };
        self.last_at.map(|at| at + patience)
    }

    /// Returns held events that are not a reply. The beginning of an incomplete reply is dropped, because no person
    /// types it.
    pub(super) fn give_up(&mut self) -> Vec<Event> {
        let sure = self.has_prefix();
        let held = std::mem::take(&mut self.held);
        self.text.clear();
        self.last_at = None;
        if sure { Vec::new() } else { held }
    }

    fn hold_event(&mut self, now: Instant, part: ReplyToken, event: Event) {
        match part {
            ReplyToken::Char(c) | ReplyToken::Escaped(c) => self.text.push(c),
            // Inside a reply, it is the first half of the end.
            ReplyToken::Escape if !self.held.is_empty() => self.text.push('\x1b'),
            ReplyToken::Escape | ReplyToken::Bell | ReplyToken::Other => {}
        }
        self.held.push(event);
        self.last_at = Some(now);
    }

    fn has_prefix(&self) -> bool {
        self.text.starts_with(BEGIN)
    }

    fn accepts_char(&self, c: char) -> bool {
        if self.has_prefix() {
            return self.text.len() < MOST
                && !self.text.ends_with('\x1b')
                && (c.is_ascii_alphanumeric() || ":/#".contains(c));
        }
        BEGIN.strip_prefix(self.text.as_str()).is_some_and(|rest| rest.starts_with(c))
    }

    fn finish_reply(&mut self) -> ReplyOutcome {
        let color =
            self.text.strip_prefix(BEGIN).and_then(|text| parse_appearance(text.trim_end_matches('\x1b')));
        self.give_up();
        self.expected_until = None;
        ReplyOutcome { events: Vec::new(), appearance: color }
    }
}

fn reply_token(event: &Event) -> ReplyToken {
    let Event::Key(KeyEvent { code, modifiers, .. }) = event else { return ReplyToken::Other };
    let alt = modifiers.contains(KeyModifiers::ALT);
    let ctrl = modifiers.contains(KeyModifiers::CONTROL);
    match (code, alt, ctrl) {
        (KeyCode::Esc, false, false) => ReplyToken::Escape,
        (KeyCode::Char(c), true, false) => ReplyToken::Escaped(*c),
        (KeyCode::Char(c), false, false) => ReplyToken::Char(*c),
        (KeyCode::Char('g'), false, true) => ReplyToken::Bell,
        _ => ReplyToken::Other,
    }
}

/// Returns the appearance of a color in the notations of terminals (`rgb:ffff/ffff/ffff`, `rgba:…`, `#ffffff`).
fn parse_appearance(color: &str) -> Option<Appearance> {
    let [red, green, blue] = parse_channels(color)?;
    let light = 0.299 * red + 0.587 * green + 0.114 * blue;
    Some(if light > 0.5 { Appearance::Light } else { Appearance::Dark })
}

/// Parses the channels, each from 0 to 1.
fn parse_channels(color: &str) -> Option<[f32; 3]> {
    if let Some(digits) = color.strip_prefix('#') {
        let each = digits.len() / 3;
        if !digits.is_ascii() || !(1..=4).contains(&each) || digits.len() % 3 != 0 {
            return None;
        }
        let part = |at: usize| parse_channel(digits.get(at * each..(at + 1) * each)?);
        return Some([part(0)?, part(1)?, part(2)?]);
    }
    let parts = color.strip_prefix("rgba:").or_else(|| color.strip_prefix("rgb:"))?;
    let mut parts = parts.split('/').map(parse_channel);
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// Parses one to four hexadecimal digits, as a fraction of their maximum.
fn parse_channel(digits: &str) -> Option<f32> {
    if !(1..=4).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = u16::from_str_radix(digits, 16).ok()?;
    let most = u16::MAX >> (16 - 4 * digits.len());
    Some(f32::from(value) / f32::from(most))
}

#[cfg(test)]
#[path = "reply/tests.rs"]
mod tests;
