//! `ScreenAreas`: the places of everything on the screen.

use ratatui_core::layout::Rect;

/// Where everything stood when it was drawn last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScreenAreas {
    /// The transcript, or what stands in its place.
    pub(super) main: Rect,
    pub(super) notes: Rect,
    pub(super) work: Rect,
    pub(super) queue: Rect,
    pub(super) search: Rect,
    pub(super) ask: Rect,
    /// The list of completions, where it has a place of its own.
    pub(super) popup: Rect,
    pub(super) status: Rect,
}
