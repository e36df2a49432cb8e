//! The division of the screen into areas.

use ratatui_core::layout::Rect;

use crate::draw_context::DrawContext;

use super::super::areas::ScreenAreas;
use super::super::component::LIST;
use super::super::composer::MARK;
use super::super::state::AppState;
use super::rows;

/// The minimum height, in rows, of a screen with a framed composer.
const FRAMED_FROM: u16 = 6;

/// The number of rows that each part requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestedRows {
    /// The minimum rows of the main area.
    least: u16,
    popup: u16,
    ask: u16,
    questions: u16,
    search: u16,
    work: u16,
    queue: u16,
    notes: u16,
}

pub(super) fn compute_areas(state: &mut AppState, area: Rect, look: &DrawContext) -> ScreenAreas {
    let wanted = requested_rows(state, area, look);
    split_areas(area, wanted, u16::MAX)
}

/// Computes the areas below the printed rows, on a screen of `screen` rows.
pub(super) fn compute_inline_areas(
    state: &mut AppState,
    area: Rect,
    screen: u16,
    look: &DrawContext,
) -> ScreenAreas {
    let wanted = inline_requested_rows(state, Rect { height: screen, ..area }, look);
    let live = u16::try_from(state.stack.conversation.transcript().live_rows()).unwrap_or(u16::MAX);
    split_areas(area, wanted, live)
}

pub(super) fn inline_requested_rows(state: &mut AppState, screen: Rect, look: &DrawContext) -> RequestedRows {
    let popup = super::popup::rows(state);
    RequestedRows { popup, ..requested_rows(state, screen, look) }
}

impl RequestedRows {
    pub(super) fn total_rows(self) -> u16 {
        let Self { least: _, popup, ask, questions, search, work, queue, notes } = self;
        [popup, ask, questions, search, work, queue, notes, 1].into_iter().fold(0, u16::saturating_add)
    }
}

fn requested_rows(state: &mut AppState, area: Rect, look: &DrawContext) -> RequestedRows {
    // A part of the transcript stays visible, because it explains the question.
    let most = area.height.saturating_sub(area.height / 4).max(1);
    let question = state.stack.dialogs.rows(area.width, most, area.height, look);
    let ask = question.unwrap_or_else(|| editor_rows(state, area));
    // While a list is open, the composer is not used, and at least one row of the list must be visible.
    let least = state.stack.cover_rows().filter(|_| state.stack.dialogs.is_empty()).unwrap_or(0);
    let ask = if least > 0 && area.height < LIST + FRAMED_FROM { ask.min(1) } else { ask };
    RequestedRows {
        least,
        popup: 0,
        ask,
        questions: rows::question_rows(state, area.height),
        search: u16::from(super::active_search(state).is_some()),
        work: rows::work_rows(state),
        queue: rows::queue_rows(state),
        notes: rows::note_rows(state, area.width, &look.theme),
    }
}

pub(in crate::app) fn main_area(state: &mut AppState) -> Rect {
    let look = state.look(state.now);
    let (columns, rows) = state.size;
    compute_areas(state, Rect::new(0, 0, columns, rows), &look).main
}

/// Returns the rows of the composer with its frame: at most a third of the screen.
fn editor_rows(state: &AppState, area: Rect) -> u16 {
    let width = area.width.saturating_sub(MARK);
    let text = u16::try_from(state.stack.composer.editor().layout(width).len()).unwrap_or(u16::MAX);
    let frame = if area.height >= FRAMED_FROM { 2 } else { 0 };
    text.min((area.height / 3).saturating_sub(frame).max(1)) + frame
}

/// Divides an area from the bottom up, the composer first. `main` is the number of rows that the transcript requests.
fn split_areas(area: Rect, wanted: RequestedRows, main: u16) -> ScreenAreas {
    let mut left = area.height;
    let mut part = |rows: u16, keep: u16| {
        let rows = rows.min(left.saturating_sub(keep));
        left -= rows;
        Rect { y: area.y + left, height: rows, ..area }
    };
    let status = part(u16::from(area.height > 3), 1);
    let popup = part(wanted.popup, wanted.ask.max(1));
    let ask = part(wanted.ask, wanted.questions);
    let questions = part(wanted.questions, wanted.least);
    let search = part(wanted.search, wanted.least);
    // A part of the transcript is visible if the screen has room for more than the composer.
    let queue = part(wanted.queue, wanted.least.max(main.min(3)));
    let work = part(wanted.work, wanted.least.max(main.min(1)));
    let notes = part(wanted.notes, wanted.least.max(main.min(3)));
    let main = part(u16::MAX, 0);
    ScreenAreas { main, notes, work, queue, search, questions, ask, popup, status }
}

pub(super) fn is_framed(ask: Rect) -> bool {
    ask.height >= 3
}
