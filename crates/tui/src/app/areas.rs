//! The areas of the parts of the screen.

use ratatui_core::layout::Rect;

/// The areas of the last frame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScreenAreas {
    /// The transcript, or the component that covers it.
    pub(super) main: Rect,
    pub(super) notes: Rect,
    pub(super) work: Rect,
    pub(super) queue: Rect,
    pub(super) search: Rect,
    /// The list of questions behind the one that is shown.
    pub(super) questions: Rect,
    pub(super) ask: Rect,
    /// The completion list in inline mode.
    pub(super) popup: Rect,
    pub(super) status: Rect,
}
