//! The inline mode, which prints into the terminal's scrollback.

use ratatui_core::style::Style;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::theme::Role;

use super::settings::Screen;

const LONGEST_NAME: usize = 60;

/// The next output of the inline mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineOutput {
    /// The rows to print below the rows that were printed before.
    pub printed: Vec<Line<'static>>,
    /// The number of rows to draw below the printed rows.
    pub height: u16,
}

/// The state of the inline mode.
#[derive(Debug, Default)]
pub(super) struct InlineScreen {
    on: bool,
    /// True once the greeting was printed.
    greeted: bool,
    /// The rows of the previous conversation that were not printed yet.
    leftover_rows: Vec<Line<'static>>,
    /// The title of the next conversation.
    next_title: Option<String>,
}

impl InlineScreen {
    pub(super) fn new(screen: Screen) -> Self {
        Self { on: screen == Screen::Inline, ..Self::default() }
    }

    /// True if the inline mode is used.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// True once the greeting was printed.
    pub(super) fn has_greeted(&self) -> bool {
        self.greeted
    }

    /// Returns true on the first call with a known session, which prints the greeting.
    pub(super) fn claim_greeting(&mut self, is_known: bool) -> bool {
        is_known && !std::mem::replace(&mut self.greeted, true)
    }

    /// Stores the remaining rows of the previous conversation for printing.
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

    /// Takes the rows before the conversation: the rest of the previous conversation, the greeting and the title.
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

/// `── title ──────`
fn titled_rule(title: &str, width: u16, look: &DrawContext) -> Line<'static> {
    let width = usize::from(width);
    let title = CleanLine::new(title).truncate_to_width(width.saturating_sub(6));
    let rest = width.saturating_sub(title.columns() + 4);
    let border = look.theme.style(Role::Border);
    Line::from_iter([
        span("── ", border),
        span(title, look.theme.style(Role::Muted)),
        span(" ", Style::new()),
        span(CleanLine::from_repeated_char('─', rest), border),
    ])
}
