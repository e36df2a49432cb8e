//! The output of the inline mode.

use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::super::inline::InlineOutput;
use super::super::state::AppState;
use super::{inline_rows, welcome};
use crate::draw_context::DrawContext;

/// Stores the unprinted rows of the shown conversation for printing, before another one is shown.
pub(in crate::app) fn flush_conversation(state: &mut AppState) {
    if !state.inline.is_on() || state.stack.conversation.is_loading() && !state.inline.has_greeted() {
        return;
    }
    let look = state.look(state.now);
    let left = unprinted_rows(state, state.size.0, &look);
    state.inline.keep_leftover_rows(left);
}

/// Returns the rows to print and the number of rows to draw below them. Returns `None` while a list, a page, a panel or
/// the transcript is open, which use the whole screen.
pub(in crate::app) fn next_inline_output(
    state: &mut AppState,
    screen: Rect,
    look: &DrawContext,
) -> Option<InlineOutput> {
    if !state.draws_inline() {
        return None;
    }
    let wanted = inline_rows(state, screen, look);
    let room = screen.height.saturating_sub(wanted);
    let mut printed = Vec::new();
    // Updates that are shown before the conversation has arrived are not a part of it.
    if !state.stack.conversation.is_loading() {
        printed.extend(take_heading_rows(state, screen.width, look));
        printed.extend(state.stack.conversation.transcript_mut().take_settled_rows(
            screen.width,
            usize::from(room),
            look,
        ));
    }
    let live = u16::try_from(state.stack.conversation.transcript().live_rows()).unwrap_or(u16::MAX).min(room);
    Some(InlineOutput { printed, height: (wanted + live).min(screen.height).max(1) })
}

/// Returns all rows that have not been printed.
pub(in crate::app) fn unprinted_rows(
    state: &mut AppState,
    width: u16,
    look: &DrawContext,
) -> Vec<Line<'static>> {
    let mut rows = take_heading_rows(state, width, look);
    rows.extend(state.stack.conversation.transcript_mut().take_remaining_rows(width, look));
    rows
}

/// Returns the rows before the conversation: the rest of the previous one, the greeting and the title.
fn take_heading_rows(state: &mut AppState, width: u16, look: &DrawContext) -> Vec<Line<'static>> {
    let greets = state.inline.claim_greeting(state.out.session().is_some());
    let greeting = if greets { welcome::rows(state, width, look) } else { Vec::new() };
    state.inline.take_heading(greeting, width, look)
}
