//! The input row of a search.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::component::draw_line;
use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::editor::{Editor, NARROWEST};
use crate::keys::{Action, Context, Edit, KeyPress, Search};
use crate::theme::Role;
use crate::transcript::SearchOutcome;

#[derive(Debug)]
pub(super) struct SearchField {
    label: &'static str,
    editor: Editor,
}

/// The outcome of a key press in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchKeyOutcome {
    Nothing,
    Changed,
    /// Moves to the next older or newer match.
    Next {
        older: bool,
    },
    Over {
        taken: bool,
    },
}

impl SearchField {
    pub(super) fn new(label: &'static str) -> Self {
        Self { label, editor: Editor::one_line() }
    }

    pub(super) fn text(&self) -> &str {
        self.editor.text()
    }

    pub(super) fn handle_key(&mut self, press: &KeyPress, width: u16) -> SearchKeyOutcome {
        let before = self.editor.revision();
        match (press.action(Context::Search), press.chord().typed_char()) {
            (Some(Action::Search(Search::Accept)), _) => return SearchKeyOutcome::Over { taken: true },
            (Some(Action::Search(Search::Close)), _) => return SearchKeyOutcome::Over { taken: false },
            (Some(Action::Search(Search::Older)), _) => return SearchKeyOutcome::Next { older: true },
            (Some(Action::Search(Search::Newer)), _) => return SearchKeyOutcome::Next { older: false },
            (Some(Action::Edit(Edit::Newline)), _) => {}
            // One line has no history.
            (Some(Action::Edit(edit)), _) => {
                let _ = self.editor.apply_edit(edit, width);
            }
            (_, Some(c)) => self.editor.type_char(c),
            (_, None) => {}
        }
        if self.editor.revision() == before { SearchKeyOutcome::Nothing } else { SearchKeyOutcome::Changed }
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.editor.insert(text);
    }

    /// Draws the row with the present outcome of the search.
    pub(super) fn draw(&self, found: SearchOutcome, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        let theme = &look.theme;
        let layout = self.editor.layout(self.text_area(area).width);
        let row = self.editor.row_pieces(&layout, layout.row).into_iter();
        let typed = row.map(|piece| span(CleanLine::new(&piece.text), theme.style(Role::Text)));
        let found = describe_outcome(found)
            .map(|(text, role)| span(CleanLine::new(&format!("  {text}")), theme.style(role)));
        let label = span(CleanLine::from(self.label), theme.style(Role::Prompt));
        let line: Line<'_> = std::iter::once(label).chain(typed).chain(found).collect();
        draw_line(buffer, area, 0, &line);
    }

    pub(super) fn cursor(&self, area: Rect) -> Option<(u16, u16)> {
        if area.is_empty() {
            return None;
        }
        let inner = self.text_area(area);
        let column = u16::try_from(self.editor.layout(inner.width).column).unwrap_or(u16::MAX);
        Some((inner.x + column.min(inner.width.saturating_sub(1)), area.y))
    }

    fn text_area(&self, area: Rect) -> Rect {
        let label = u16::try_from(CleanLine::from(self.label).columns()).unwrap_or(u16::MAX);
        let label = label.min(area.width.saturating_sub(NARROWEST));
        Rect { x: area.x + label, width: area.width - label, ..area }
    }
}

fn describe_outcome(found: SearchOutcome) -> Option<(String, Role)> {
    match found {
        SearchOutcome::Match => None,
        SearchOutcome::Nothing => Some(("no matches".to_owned(), Role::Warning)),
        SearchOutcome::Stopped => Some(("search stopped".to_owned(), Role::Muted)),
        SearchOutcome::Searching(done) => Some((progress_text(done), Role::Muted)),
    }
}

/// `searching… 43 %`
pub(super) fn progress_text(done: u8) -> String {
    format!("searching… {done} %")
}
