//! Drawing of the whole interface: the transcript or its cover, notes, activity, queue, composer or dialog, and the
//! status line.

mod editor;
pub(super) mod inline_view;
mod layout;
mod popup;
mod rows;
mod welcome;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::draw_context::DrawContext;
use crate::theme::Role;
use crate::transcript::SearchOutcome;

use super::areas::ScreenAreas;
use super::search::SearchField;
use super::state::AppState;
use super::status::StatusBarSources;

pub(super) use layout::main_area;

/// Draws the interface and returns the position of the terminal's cursor.
pub fn draw(state: &mut AppState, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
    let is_below = state.draws_inline();
    let areas = match is_below {
        // In inline mode the background stays the terminal's own, as in the printed rows.
        true => layout::compute_inline_areas(state, area, state.size.1, look),
        false => {
            buffer.set_style(area, look.theme.style(Role::Background));
            layout::compute_areas(state, area, look)
        }
    };
    state.areas = areas;
    let above = match is_below {
        true => {
            state.stack.conversation.transcript_mut().draw_live(areas.main, buffer, look);
            None
        }
        false => draw_main(state, areas.main, buffer, look),
    };
    rows::draw_notes(state, areas.notes, buffer, look);
    rows::draw_work(state, areas.work, buffer, look);
    rows::draw_queue(state, areas.queue, buffer, look);
    rows::draw_questions(state, areas.questions, buffer, look);
    if let Some((search, found)) = active_search(state) {
        search.draw(found, areas.search, buffer, look);
    }
    let below = draw_input_area(state, areas, buffer, look);
    let searching = match state.stack.conversation.transcript().search_outcome() {
        SearchOutcome::Searching(done) if active_search(state).is_none() => Some(done),
        SearchOutcome::Searching(_)
        | SearchOutcome::Match
        | SearchOutcome::Nothing
        | SearchOutcome::Stopped => None,
    };
    let facts = StatusBarSources {
        session: &state.session,
        keymap: &state.keymap,
        approve: &state.settings.tools_to_approve(),
        searching,
        browses: state.stack.conversation.is_browsing(),
        works: state.work.is_active(),
        questions: state.stack.dialogs.waiting_questions().len(),
    };
    state.status.draw(facts, areas.status, buffer, look);
    // The cursor belongs to the component that has the keyboard.
    let cursor = match (state.stack.dialogs.is_empty(), state.stack.cover_rows().is_some()) {
        (false, _) => below,
        (true, true) => above,
        (true, false) if state.stack.conversation.is_browsing() => None,
        (true, false) => active_search(state).and_then(|(search, _)| search.cursor(areas.search)).or(below),
    };
    // On a screen that is too small for the component, the cursor is placed at the edge.
    let (right, bottom) = (area.right().checked_sub(1)?, area.bottom().checked_sub(1)?);
    cursor.map(|(x, y)| (x.min(right), y.min(bottom)))
}

/// Returns the number of rows requested below the conversation in inline mode.
pub(super) fn inline_rows(state: &mut AppState, screen: Rect, look: &DrawContext) -> u16 {
    layout::inline_requested_rows(state, screen, look).total_rows()
}

fn draw_main(
    state: &mut AppState,
    area: Rect,
    buffer: &mut Buffer,
    look: &DrawContext,
) -> Option<(u16, u16)> {
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

fn draw_input_area(
    state: &mut AppState,
    areas: ScreenAreas,
    buffer: &mut Buffer,
    look: &DrawContext,
) -> Option<(u16, u16)> {
    if !state.stack.dialogs.is_empty() {
        return state.stack.dialogs.draw(areas.ask, buffer, look);
    }
    let cursor = editor::draw(state, areas.ask, buffer, look);
    popup::draw(state, areas, buffer, look);
    cursor
}

pub(super) fn active_search(state: &AppState) -> Option<(&SearchField, SearchOutcome)> {
    let in_conversation =
        state.stack.conversation.search().map(|search| (search, state.stack.conversation.search_status()));
    in_conversation.or_else(|| state.stack.composer.search())
}
