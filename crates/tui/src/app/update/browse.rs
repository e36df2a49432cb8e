//! Browsing the transcript in inline mode.

use super::super::state::AppState;
use super::super::view;
use crate::keys::Scroll;

/// Opens the transcript for a scroll action. Returns false if the action has no effect in inline mode.
pub(super) fn open_transcript(state: &mut AppState, scroll: Scroll) -> bool {
    if !state.draws_inline() {
        return true;
    }
    match scroll {
        Scroll::CopyAnswer => true,
        // The end of the transcript is already visible.
        Scroll::PageDown | Scroll::LineDown | Scroll::MessageDown | Scroll::Bottom => false,
        Scroll::Search | Scroll::Browse => {
            measure_transcript(state);
            true
        }
        Scroll::PageUp | Scroll::LineUp | Scroll::MessageUp | Scroll::Top => {
            browse_transcript(state);
            true
        }
    }
}

/// Folds or unfolds tool calls or thinking. Printed rows cannot be unfolded, so inline mode opens the transcript.
pub(super) fn toggle_folds(state: &mut AppState, is_calls: bool) {
    let opens = state.draws_inline();
    if opens {
        measure_transcript(state);
    }
    let (calls, thinking) = state.stack.conversation.transcript_mut().unfolded_kinds();
    match is_calls {
        true if !(opens && calls) => state.stack.conversation.transcript_mut().toggle_calls(),
        false if !(opens && thinking) => state.stack.conversation.transcript_mut().toggle_thinking(),
        true | false => {}
    }
    if opens {
        browse_transcript(state);
    }
}

fn browse_transcript(state: &mut AppState) {
    measure_transcript(state);
    state.stack.composer.close_popup();
    state.stack.conversation.start_browsing();
}

fn measure_transcript(state: &mut AppState) {
    let area = view::main_area(state);
    state.stack.conversation.open_over_inline(area.height);
}

pub(super) fn stay_in_transcript(state: &mut AppState) {
    if state.inline.is_on() {
        browse_transcript(state);
    }
}
