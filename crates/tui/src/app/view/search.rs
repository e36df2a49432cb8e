//! The row in which the words of a search are typed.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::look::Look;
use crate::theme::Role;
use crate::transcript::Found;

use super::super::input::{Place, Search};
use super::super::state::State;
use super::put;

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer, look: &Look) {
    let Some(search) = &state.input.search else { return };
    let theme = &look.theme;
    let label = CleanLine::from(label(search));
    let room = text_area(search, area).width;
    let layout = search.editor.layout(room);
    let row = search.editor.row(&layout, layout.row).into_iter();
    let typed = row.map(|piece| span(CleanLine::new(&piece.text), theme.style(Role::Text)));
    let result = result(state, search)
        .map(|(text, role)| span(CleanLine::new(&format!("  {text}")), theme.style(role)));
    let line: Line<'_> =
        std::iter::once(span(label, theme.style(Role::Prompt))).chain(typed).chain(result).collect();
    put(buffer, area, 0, &line);
}

/// Where the cursor stands, while something is searched for.
pub(super) fn cursor(state: &State, area: Rect) -> Option<(u16, u16)> {
    let search = state.input.search.as_ref().filter(|_| !area.is_empty())?;
    let inner = text_area(search, area);
    let column = u16::try_from(search.editor.layout(inner.width).column).unwrap_or(u16::MAX);
    Some((inner.x + column.min(inner.width.saturating_sub(1)), area.y))
}

/// What came of it so far, where that has to be said.
fn result(state: &State, search: &Search) -> Option<(String, Role)> {
    let found = match &search.place {
        Place::History { search, .. } if search.has_failed() => Found::Nothing,
        Place::Transcript if !search.editor.is_empty() => state.transcript.found(),
        Place::History { .. } | Place::Transcript => Found::Match,
    };
    match found {
        Found::Match => None,
        Found::Nothing => Some(("nothing found".to_owned(), Role::Warning)),
        Found::Stopped => Some(("stopped".to_owned(), Role::Muted)),
        Found::Searching(done) => Some((searching(done), Role::Muted)),
    }
}

/// `searching… 43 %`
pub(super) fn searching(done: u8) -> String {
    format!("searching… {done} %")
}

fn label(search: &Search) -> &'static str {
    match &search.place {
        Place::History { .. } => "search the prompts: ",
        Place::Transcript => "search: ",
    }
}

fn text_area(search: &Search, area: Rect) -> Rect {
    let label = u16::try_from(CleanLine::from(label(search)).columns()).unwrap_or(u16::MAX);
    let label = label.min(area.width.saturating_sub(crate::editor::NARROWEST));
    Rect { x: area.x + label, width: area.width - label, ..area }
}
