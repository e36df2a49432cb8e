//! `Inline`: what was printed on the terminal's own screen, and what is printed next before the conversation.

use ratatui_core::style::Style;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::look::DrawContext;
use crate::theme::Role;

use super::settings::Screen;

const LONGEST_NAME: usize = 60;

/// The next output of the terminal's own screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineOutput {
    /// Rows that are printed below all that was printed before.
    pub printed: Vec<Line<'static>>,
    /// The number of rows that are drawn below those.
    pub height: u16,
}

/// The state of the terminal's own screen.
#[derive(Debug, Default)]
pub(super) struct InlineScreen {
    on: bool,
    /// True once it has been printed whose program this is.
    greeted: bool,
    /// The rows of a conversation that was left before they were printed.
    leftover_rows: Vec<Line<'static>>,
    /// The name of the conversation that begins.
    next_title: Option<String>,
}

impl InlineScreen {
    pub(super) fn new(screen: Screen) -> Self {
        Self { on: screen == Screen::Inline, ..Self::default() }
    }

    /// True if the terminal's own screen is used.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// True once it has been printed whose program this is.
    pub(super) fn has_greeted(&self) -> bool {
        self.greeted
    }

    /// Returns true the first time, once the session is known.
    pub(super) fn claim_greeting(&mut self, is_known: bool) -> bool {
        is_known && !std::mem::replace(&mut self.greeted, true)
    }

    /// Keeps rows of a conversation that is left, to be printed.
    pub(super) fn keep_leftover_rows(&mut self, rows: Vec<Line<'static>>) {
        self.leftover_rows.extend(rows);
    }

    pub(super) fn announce_conversation(&mut self, name: &str) {
        if self.on && self.greeted {
            let name =
                CleanLine::new(name.lines().next().unwrap_or_default()).truncate_to_width(LONGEST_NAME);
            self.next_title = Some(name.as_str().to_owned());
        }
    }

    /// Takes the rows before the conversation: the rest of the one before it, the greeting, and its name.
    pub(super) fn take_heading(
        &mut self,
        greeting: Vec<Line<'static>>,
        width: u16,
        look: &DrawContext,
    ) -> Vec<Line<'static>> {
        let mut rows = std::mem::take(&mut self.leftover_rows);
        if !greeting.is_empty() {
            rows.extend(greeting);
            rows.push(Line::default());
        }
        if let Some(name) = self.next_title.take() {
            rows.extend([Line::default(), titled_rule(&name, width, look), Line::default()]);
        }
        rows
    }
}

/// `── the words ──────`
fn titled_rule(words: &str, width: u16, look: &DrawContext) -> Line<'static> {
    let width = usize::from(width);
    let words = CleanLine::new(words).truncate_to_width(width.saturating_sub(6));
    let rest = width.saturating_sub(words.columns() + 4);
    let border = look.theme.style(Role::Border);
    Line::from_iter([
        span("── ", border),
        span(words, look.theme.style(Role::Muted)),
        span(" ", Style::new()),
        span(CleanLine::from_repeated_char('─', rest), border),
    ])
}
