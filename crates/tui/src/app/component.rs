//! `Component`: a part of the interface that owns its state, takes keys and draws itself.
//!
//! `stack.rs` names the components in the order in which they are asked. A component that is not open passes a key
//! on to the next one. The first open component decides: it handles the key, or leaves it unclaimed. Then only the keys
//! of the whole program are left, and at last the key that quits.

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::keys::{Action, Context, KeyPress, Keymap};
use crate::look::DrawContext;

use super::MouseAction;
use super::outbox::Outbox;

/// The outcome of offering input to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputOutcome {
    Handled,
    /// The component is not open: the next one is asked.
    PassedOn,
    /// The component is open and has no use for the input. No component below it is asked. The action is the meaning of
    /// the key in the context of the component.
    Unclaimed(Option<Action>),
}

impl InputOutcome {
    /// The outcome for a key in a component where text is typed: a key that is no text and means nothing in these
    /// contexts is not claimed.
    pub(super) fn for_text_input(press: &KeyPress, contexts: &[Context]) -> Self {
        let means = contexts.iter().any(|context| press.action(*context).is_some());
        if means || press.chord().typed_char().is_some() { Self::Handled } else { Self::Unclaimed(None) }
    }
}

/// The rows of a list or a page that are of use: its frame, what is typed, a row of it.
pub(super) const LIST: u16 = 4;

/// The line that closes what is open, where lines are typed.
pub(super) const CLOSE: &str = ":close";

/// The surroundings of a component while it handles input.
#[derive(Debug)]
pub(super) struct InputContext<'s> {
    pub(super) now: Instant,
    pub(super) keymap: &'s Keymap,
    /// The columns of the text in the composer.
    pub(super) width: u16,
    /// The area of the conversation, as it was drawn last.
    pub(super) main: Rect,
    /// The requests and effects that follow from the input.
    pub(super) out: &'s mut Outbox,
}

/// A part of the interface.
pub(super) trait Component {
    /// The fewest rows that the component needs in the place of the conversation. None if it is not there.
    fn cover_rows(&self) -> Option<u16> {
        None
    }

    /// Draws the component in the place of the conversation. Returns the cursor.
    fn draw_cover(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        let (_, _, _) = (area, buffer, look);
        None
    }

    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }

    fn handle_key(&mut self, press: &KeyPress, scope: &mut InputContext<'_>) -> InputOutcome;

    fn handle_paste(&mut self, text: &str, scope: &mut InputContext<'_>) -> InputOutcome;

    /// Handles a line that was typed, where lines are typed and not keys.
    fn handle_line(&mut self, line: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        let _ = (line, scope);
        InputOutcome::PassedOn
    }

    fn handle_mouse(&mut self, mouse: MouseAction, scope: &mut InputContext<'_>) -> InputOutcome {
        let _ = (mouse, scope);
        InputOutcome::PassedOn
    }
}

pub(super) fn draw_line(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}
