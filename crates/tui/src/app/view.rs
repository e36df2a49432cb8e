//! How the whole looks: the transcript or what stands in its place, notes, what is worked on, the editor or a question,
//! and the status line.

mod editor;
mod inline;
mod layout;
mod page;
mod popup;
mod rows;
mod search;
mod status;
mod welcome;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::look::Look;
use crate::theme::Role;

use super::overlay::Overlay;
use super::state::State;

pub(super) use layout::{Areas, main_area};

/// How many columns the mark before the editor takes.
pub(super) const MARK: u16 = 2;

/// Draws everything, and says where the terminal's cursor stands.
pub fn draw(state: &mut State, area: Rect, buffer: &mut Buffer, look: &Look) -> Option<(u16, u16)> {
    let is_below = state.is_below();
    let areas = match is_below {
        // The ground is the terminal's own there, as it is of what was printed.
        true => layout::areas_below(state, area, state.size.1, look),
        false => {
            buffer.set_style(area, look.theme.style(Role::Background));
            layout::areas(state, area, look)
        }
    };
    state.areas = areas;
    let above = match is_below {
        true => inline::live(state, areas.main, buffer, look),
        false => main(state, areas.main, buffer, look),
    };
    rows::notes(state, areas.notes, buffer, look);
    rows::work(state, areas.work, buffer, look);
    rows::queue(state, areas.queue, buffer, look);
    search::draw(state, areas.search, buffer, look);
    let below = ask(state, areas, buffer, look);
    status::draw(state, areas.status, buffer, look);
    // What has the keyboard has the cursor.
    let cursor = match (state.dialogs.is_empty(), &state.overlay) {
        (false, _) => below,
        (true, Some(_)) => above,
        (true, None) if state.panel.is_some() || state.browses => None,
        (true, None) => search::cursor(state, areas.search).or(below),
    };
    // On a screen that has no room for what it is in, it stands at the edge.
    let (right, bottom) = (area.right().checked_sub(1)?, area.bottom().checked_sub(1)?);
    cursor.map(|(x, y)| (x.min(right), y.min(bottom)))
}

/// The transcript, or what stands in its place.
fn main(state: &mut State, area: Rect, buffer: &mut Buffer, look: &Look) -> Option<(u16, u16)> {
    if area.is_empty() {
        return None;
    }
    match &mut state.overlay {
        Some(Overlay::Picker(picker, _)) => return picker.draw(area, buffer, look),
        Some(Overlay::Page(page)) => {
            page::draw(page, area, buffer, look);
            return None;
        }
        None => {}
    }
    if let Some(panel) = &state.panel {
        panel.draw(area, buffer, look);
    } else if state.transcript.is_empty() {
        welcome::draw(state, area, buffer, look);
    } else {
        state.transcript.draw(area, buffer, look);
    }
    None
}

/// The editor, or the question that stands in its place.
fn ask(state: &mut State, areas: Areas, buffer: &mut Buffer, look: &Look) -> Option<(u16, u16)> {
    if let Some(asked) = state.dialogs.shown() {
        return asked.dialog.draw(areas.ask, buffer, look);
    }
    let cursor = editor::draw(state, areas.ask, buffer, look);
    popup::draw(state, areas, buffer, look);
    cursor
}

/// Draws a line into a row of an area.
fn put(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}
