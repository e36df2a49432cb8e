//! Tests of the transcript on a screen.

mod browsing;
mod images;
mod kinds;
mod many;
mod moving;
mod random;
mod run;
mod searching;
mod settling;

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent as E;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Rfc3339Time, StopCause};
use haft_tui::draw_context::DrawContext;
use haft_tui::image::ImageDisplay;
use haft_tui::theme::Theme;
use haft_tui::transcript::Transcript;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

/// A transcript with a manual clock.
pub(crate) struct Shown {
    pub(crate) transcript: Transcript,
    pub(crate) now: Instant,
    pub(crate) theme: Theme,
    pub(crate) size: (u16, u16),
    pub(crate) images: Option<Arc<ImageDisplay>>,
    pub(crate) buffer: Buffer,
}

impl Shown {
    pub(crate) fn new(width: u16, height: u16) -> Self {
        Self {
            transcript: Transcript::default(),
            now: Instant::now(),
            theme: Theme::dark(),
            size: (width, height),
            images: None,
            buffer: Buffer::empty(Rect::new(0, 0, width, height)),
        }
    }

    pub(crate) fn pass(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    pub(crate) fn event(&mut self, event: &E) {
        self.transcript.handle_event(event, self.now);
    }

    pub(crate) fn events(&mut self, events: &[E]) {
        events.iter().for_each(|event| self.event(event));
    }

    /// Returns the screen without trailing blanks and trailing empty rows.
    pub(crate) fn draw(&mut self) -> String {
        let (width, height) = self.size;
        self.buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let look = DrawContext { theme: self.theme.clone(), now: self.now, images: self.images.clone() };
        self.transcript.draw(self.buffer.area, &mut self.buffer, &look);
        text(&self.buffer)
    }

    /// Returns the rows, numbered.
    pub(crate) fn rows(&mut self) -> Vec<String> {
        self.draw().lines().map(str::to_owned).collect()
    }

    /// Returns the parts of the screen with a style.
    pub(crate) fn styled(&self, has: impl Fn(Style) -> bool) -> Vec<String> {
        let area = self.buffer.area;
        let rows = (area.top()..area.bottom()).map(|y| {
            let cells = (area.left()..area.right()).filter(|x| has(self.buffer[(*x, y)].style()));
            cells.map(|x| self.buffer[(x, y)].symbol().to_owned()).collect::<String>()
        });
        rows.filter(|row| !row.is_empty()).collect()
    }
}

/// Returns the text of a buffer.
pub(crate) fn text(buffer: &Buffer) -> String {
    let area = buffer.area;
    let rows = (area.top()..area.bottom()).map(|y| {
        let mut row = String::new();
        let mut x = area.left();
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += 1.max(u16::try_from(ratatui_core::text::Line::raw(symbol).width()).unwrap());
        }
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

pub(crate) fn time() -> Rfc3339Time {
    Rfc3339Time("2026-11-21T12:00:00Z".into())
}

pub(crate) fn id(id: &str) -> ToolCallId {
    ToolCallId::new(id)
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

pub(crate) fn said(text: &str) -> E {
    E::UserMessage { content: vec![ContentBlock::text(text)], time: time(), entry: None }
}

pub(crate) fn delta(text: &str) -> E {
    E::TextDelta { delta: text.into() }
}

pub(crate) fn thinks(text: &str) -> E {
    E::ThinkingDelta { delta: text.into() }
}

pub(crate) fn block(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

pub(crate) fn answer(blocks: &[AssistantBlock]) -> E {
    E::AssistantMessage { content: blocks.to_vec(), time: time(), entry: None }
}

/// Makes the events of a whole text answer.
pub(crate) fn answers(text: &str) -> Vec<E> {
    let end = E::TurnEnd { stop: StopCause::End, error: None };
    vec![E::AssistantStart, delta(text), answer(&[block(text)]), end, E::Done]
}

pub(crate) fn call(name: &str, args: &str) -> E {
    E::ToolCall { id: id("1"), name: name.into(), args: json(args) }
}

pub(crate) fn start(name: &str, args: &str) -> E {
    E::ToolStart { id: id("1"), name: name.into(), args: json(args), label: None }
}

pub(crate) fn progress(text: &str) -> E {
    E::ToolProgress { id: id("1"), text: text.into(), replaces: false, details: None }
}

pub(crate) fn ended(name: &str, duration_ms: u64) -> E {
    E::ToolEnd { id: id("1"), name: name.into(), duration_ms }
}

pub(crate) fn result(name: &str, text: &str, is_error: bool) -> E {
    with_details(name, text, is_error, None)
}

pub(crate) fn with_details(name: &str, text: &str, is_error: bool, details: Option<&str>) -> E {
    E::ToolResult {
        id: id("1"),
        name: name.into(),
        is_error,
        content: vec![ContentBlock::text(text)],
        extension: None,
        synthetic_by: None,
        details: details.map(json),
        entry: None,
    }
}

/// Makes the events of a call from beginning to end.
pub(crate) fn called(name: &str, args: &str, text: &str) -> Vec<E> {
    vec![call(name, args), start(name, args), ended(name, 3_210), result(name, text, false)]
}
