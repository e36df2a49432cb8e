//! The layout of the whole interface: the transcript or what stands in its place, notes, what is worked on, the editor
//! or a question, and the status line.

pub(super) mod below;
mod editor;
mod layout;
mod popup;
mod rows;
mod welcome;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::look::DrawContext;
use crate::theme::Role;
use crate::transcript::SearchOutcome;

use super::areas::Areas;
use super::search::SearchField;
use super::state::State;
use super::status::StatusFacts;

pub(super) use layout::main_area;

/// Draws everything, and says where the terminal's cursor stands.
pub fn draw(state: &mut State, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
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
        true => {
            state.stack.conversation.transcript_mut().draw_live(areas.main, buffer, look);
            None
        }
        false => main(state, areas.main, buffer, look),
    };
    rows::notes(state, areas.notes, buffer, look);
    rows::work(state, areas.work, buffer, look);
    rows::queue(state, areas.queue, buffer, look);
    if let Some((search, found)) = search(state) {
        search.draw(found, areas.search, buffer, look);
    }
    let below = ask(state, areas, buffer, look);
    let searching = match state.stack.conversation.transcript().search_outcome() {
        SearchOutcome::Searching(done) if search(state).is_none() => Some(done),
        SearchOutcome::Searching(_) | SearchOutcome::Match | SearchOutcome::Nothing | SearchOutcome::Stopped => None,
    };
    let facts = StatusFacts {
        session: &state.session,
        keymap: &state.keymap,
        searching,
        browses: state.stack.conversation.browses(),
        works: state.work.is_on(),
        questions: state.stack.dialogs.behind(),
    };
    state.status.draw(facts, areas.status, buffer, look);
    // What has the keyboard has the cursor.
    let cursor = match (state.stack.dialogs.is_empty(), state.stack.cover_rows().is_some()) {
        (false, _) => below,
        (true, true) => above,
        (true, false) if state.stack.conversation.browses() => None,
        (true, false) => search(state).and_then(|(search, _)| search.cursor(areas.search)).or(below),
    };
    // On a screen that has no room for what it is in, it stands at the edge.
    let (right, bottom) = (area.right().checked_sub(1)?, area.bottom().checked_sub(1)?);
    cursor.map(|(x, y)| (x.min(right), y.min(bottom)))
}

/// The rows that everything below the conversation wants, where that is printed.
pub(super) fn rows_below(state: &mut State, screen: Rect, look: &DrawContext) -> u16 {
    layout::wanted_below(state, screen, look).rows()
}

fn main(state: &mut State, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
    if area.is_empty() {
        return None;
    }
    if let Some(cursor) = state.stack.draw_cover(area, buffer, look) {
        return cursor;
    }
    if state.stack.conversation.transcript().is_empty() {
        welcome::draw(state, area, buffer, look);
    } else {
        state.stack.conversation.transcript_mut().draw(area, buffer, look);
    }
    None
}

fn ask(state: &mut State, areas: Areas, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
    if !state.stack.dialogs.is_empty() {
        return state.stack.dialogs.draw(areas.ask, buffer, look);
    }
    let cursor = editor::draw(state, areas.ask, buffer, look);
    popup::draw(state, areas, buffer, look);
    cursor
}

pub(super) fn search(state: &State) -> Option<(&SearchField, SearchOutcome)> {
    let in_conversation =
        state.stack.conversation.search().map(|search| (search, state.stack.conversation.found()));
    in_conversation.or_else(|| state.stack.composer.search())
}
