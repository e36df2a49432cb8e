//! The terminal's own screen: what is printed on it, and how many rows are drawn below that.

use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::super::inline::InlineOutput;
use super::super::state::AppState;
use super::{inline_rows, welcome};
use crate::look::DrawContext;

/// The conversation that is shown is left: what was not printed of it is, as it is now.
pub(in crate::app) fn flush_conversation(state: &mut AppState) {
    if !state.inline.is_on() || state.stack.conversation.is_loading() && !state.inline.has_greeted() {
        return;
    }
    let look = state.look(state.now);
    let left = unprinted_rows(state, state.size.0, &look);
    state.inline.keep_leftover_rows(left);
}

/// Returns the next output of the terminal's own screen, and the number of rows that are drawn below it. None where all
/// of a screen is drawn: that is how lists, pages, panels and the transcript are shown while they are open.
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
    // What is shown before the conversation is known is not a part of it.
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

/// All that has not been printed, as it is now.
pub(in crate::app) fn unprinted_rows(
    state: &mut AppState,
    width: u16,
    look: &DrawContext,
) -> Vec<Line<'static>> {
    let mut rows = take_heading_rows(state, width, look);
    rows.extend(state.stack.conversation.transcript_mut().take_remaining_rows(width, look));
    rows
}

/// Returns the rows before the conversation: the rest of the one before it, and what this one is.
fn take_heading_rows(state: &mut AppState, width: u16, look: &DrawContext) -> Vec<Line<'static>> {
    let greets = state.inline.claim_greeting(state.out.session().is_some());
    let greeting = if greets { welcome::rows(state, width, look) } else { Vec::new() };
    state.inline.take_heading(greeting, width, look)
}
