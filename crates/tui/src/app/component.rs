//! The trait of components: parts of the interface that own their state, handle input and draw themselves.
//!
//! `stack.rs` lists the components in the order in which they are offered input. A component that is not open passes a
//! key on to the next one. The first open component handles the key or leaves it unclaimed. An unclaimed key goes to
//! the global keys, and last to the key that quits.

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::draw_context::DrawContext;
use crate::keys::{Action, Context, KeyPress, Keymap};

use super::MouseAction;
use super::outbox::Outbox;

/// The outcome of offering input to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputOutcome {
    Handled,
    /// The component is not open; the next one is offered the input.
    PassedOn,
    /// The component is open but does not use the input. No component below it is offered the input. The action is the
    /// meaning of the key in the context of the component.
    Unclaimed(Option<Action>),
}

impl InputOutcome {
    /// Returns the outcome for a key in a component with a text field. A key that neither types text nor has an action
    /// in one of the contexts is unclaimed.
    pub(super) fn for_text_input(press: &KeyPress, contexts: &[Context]) -> Self {
        let has_action = contexts.iter().any(|context| press.action(*context).is_some());
        if has_action || press.chord().typed_char().is_some() { Self::Handled } else { Self::Unclaimed(None) }
    }
}

/// The minimum useful height of a list or a page: its frame, its input row and one row of content.
pub(super) const LIST: u16 = 4;

/// The rows that one step of the mouse wheel scrolls.
pub(super) const WHEEL: isize = 3;

/// The line that closes the open component in the linear mode.
pub(super) const CLOSE: &str = ":close";

/// The surroundings of a component while it handles input.
#[derive(Debug)]
pub(super) struct InputContext<'s> {
    pub(super) now: Instant,
    pub(super) keymap: &'s Keymap,
    /// The columns of the text in the composer.
    pub(super) width: u16,
    /// The area of the conversation in the last frame.
    pub(super) main: Rect,
    /// The requests and effects that follow from the input.
    pub(super) out: &'s mut Outbox,
}

/// A part of the interface.
pub(super) trait Component {
    /// Returns the minimum rows of a component that covers the conversation, or `None` if it does not.
    fn cover_rows(&self) -> Option<u16> {
        None
    }

    /// Draws the component over the conversation. Returns the cursor.
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

    /// Handles a typed line, in the linear mode.
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
