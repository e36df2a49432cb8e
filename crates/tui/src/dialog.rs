//! Questions for the person.

use std::time::{Duration, Instant};

use haft_protocol::content::ToolCall;
use haft_protocol::rpc::{UiAnswer, UiRequest};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::keys::{Chord, Keymap};
use crate::look::Look;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Yes or no.
    Confirm,
    /// One of these.
    Select(Vec<String>),
    /// A line; hidden while it is typed when it is a secret.
    Input {
        /// Whether nobody may read it on the screen.
        secret: bool,
    },
    /// A text of several lines, which begins as this.
    Editor(String),
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Who asks, when it is an extension.
    pub owner: Option<String>,
    /// What is asked for.
    pub wanted: Wanted,
    /// A line.
    pub title: String,
    /// What there is to know beside it.
    pub message: String,
    /// Exactly what a yes grants: the call that would run.
    pub call: Option<ToolCall>,
    /// Whether the answer grants something: it stands where no extension can draw, and keys that were typed before it
    /// was seen do not count.
    pub grants: bool,
    /// How long the answer is waited for.
    pub within: Option<Duration>,
    /// What counts when nobody answers, as people say it.
    pub default: Option<String>,
}

/// A question that is open.
#[derive(Debug)]
pub struct Dialog {
    question: Question,
}

/// What came of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing yet.
    Open,
    /// The answer.
    Answered(UiAnswer),
    /// The text is to be opened in the person's own editor; [`Dialog::edited`] is told what became of it.
    OpenEditor(String),
}

impl Question {
    /// As the agent's side asks it.
    pub fn of(_request: &UiRequest) -> Self {
        Self {
            owner: None,
            wanted: Wanted::Confirm,
            title: String::new(),
            message: String::new(),
            call: None,
            grants: false,
            within: None,
            default: None,
        }
    }
}

impl Dialog {
    /// Opens it.
    pub fn open(question: Question, _now: Instant) -> Self {
        Self { question }
    }
    /// The question.
    pub fn question(&self) -> &Question {
        &self.question
    }
    /// A key.
    pub fn key(&mut self, _chord: Chord, _keys: &Keymap, _now: Instant) -> Reply {
        Reply::Open
    }
    /// Text that was pasted.
    pub fn paste(&mut self, _text: &str, _now: Instant) {}
    /// The person's own editor is closed.
    pub fn edited(&mut self, _text: &str) {}
    /// When it looks different by itself: its countdown goes on.
    pub fn wakes_at(&self, _now: Instant) -> Option<Instant> {
        None
    }
    /// How many rows it takes at this width, at most `most`.
    pub fn rows(&mut self, _width: u16, _most: u16, _look: &Look) -> u16 {
        3
    }
    /// Draws it, and says where the terminal's cursor stands. The first time counts as when it was seen.
    pub fn draw(&mut self, _area: Rect, _buffer: &mut Buffer, _look: &Look) -> Option<(u16, u16)> {
        None
    }
}
