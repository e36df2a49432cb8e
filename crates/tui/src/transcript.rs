//! The conversation as it is shown.

use std::time::Instant;

use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::keys::{Browse, Scroll};
use crate::look::Look;
use crate::theme::Theme;

/// Something of haft's own that stands in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Something to know.
    Info(String),
    /// Something that went wrong.
    Error(String),
    /// What a command of haft's shows: a heading and Markdown.
    Page(String, String),
}

/// The conversation, where one is in it, and what of it is unfolded, searched and selected.
#[derive(Debug, Default)]
pub struct Transcript {}

/// What came of a key in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Browsed {
    /// Nothing that others have to know.
    Done,
    /// Text for the clipboard.
    Copy(String),
    /// Back to the editor.
    Leave,
}

impl Transcript {
    /// Another conversation in the place of this one.
    pub fn restore(&mut self, _messages: &[Message]) {}
    /// Something happened. Events that are not shown in the transcript change nothing.
    pub fn event(&mut self, _event: &AgentEvent, _now: Instant) {}
    /// Something of haft's own.
    pub fn say(&mut self, _said: Said) {}
    /// A command of the person's (`!`) begins.
    pub fn shell(&mut self, _number: u64, _command: &str, _kept: bool, _now: Instant) {}
    /// More of what it prints.
    pub fn shell_output(&mut self, _number: u64, _text: &str) {}
    /// It is over.
    pub fn shell_end(&mut self, _number: u64, _outcome: Result<Option<i32>, String>, _now: Instant) {}
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        true
    }
    /// Moves what is seen.
    pub fn scroll(&mut self, _action: Scroll) {}
    /// Moves what is seen by lines: down, or up when negative.
    pub fn scroll_lines(&mut self, _lines: i32) {}
    /// Whether the end is seen and stays seen while more comes.
    pub fn follows(&self) -> bool {
        true
    }
    /// Shows all tool calls in full, or folds them.
    pub fn toggle_calls(&mut self) {}
    /// Shows what the model thinks, or folds it.
    pub fn toggle_thinking(&mut self) {}
    /// The text of the model's last answer.
    pub fn last_answer(&self) -> Option<&str> {
        None
    }
    /// Searches for a text, and moves to the match that is nearest above. Whether there is one; none for an empty text.
    pub fn search(&mut self, _text: &str) -> bool {
        false
    }
    /// The match before (`true`), or the one after.
    pub fn next_match(&mut self, _older: bool) -> bool {
        false
    }
    /// Nothing is searched for any more.
    pub fn end_search(&mut self) {}
    /// The keyboard is here from now on: a cursor is shown.
    pub fn browse(&mut self) {}
    /// A key of the transcript's own.
    pub fn browsed(&mut self, _action: Browse) -> Browsed {
        Browsed::Leave
    }
    /// The button went down, moved while down, or went up, in columns and rows of the area that was drawn last. What is
    /// selected then is given for the clipboard when the button goes up.
    pub fn mouse(&mut self, _kind: crate::app::MouseKind, _column: u16, _row: u16) -> Option<String> {
        None
    }
    /// When it looks different by itself: a spinner turns, a time goes on. None while nothing runs.
    pub fn wakes_at(&self, _now: Instant) -> Option<Instant> {
        None
    }
    /// Draws what is seen. What it takes to draw is kept for the next frame; nothing else changes.
    pub fn draw(&mut self, _area: Rect, _buffer: &mut Buffer, _look: &Look) {}
    /// The last rows, for the normal screen when all is over.
    pub fn tail(&mut self, _width: u16, _rows: usize, _theme: &Theme) -> Vec<Line<'static>> {
        Vec::new()
    }
}
