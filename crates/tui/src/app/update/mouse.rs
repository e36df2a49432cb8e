//! What is done with the mouse.

use super::super::overlay::Overlay;
use super::super::state::State;
use super::super::{Mouse, MouseKind};

/// Rows that a turn of the wheel moves.
const WHEEL: i16 = 3;

impl State {
    pub(super) fn mouse(&mut self, mouse: Mouse) {
        match (mouse.kind, &mut self.overlay) {
            (MouseKind::WheelUp, Some(Overlay::Page(page))) => page.by(-isize::from(WHEEL)),
            (MouseKind::WheelDown, Some(Overlay::Page(page))) => page.by(isize::from(WHEEL)),
            (_, Some(_)) => {}
            (_, None) if self.panel.is_some() => {}
            (MouseKind::WheelUp, None) => self.transcript.scroll_lines(-i32::from(WHEEL)),
            (MouseKind::WheelDown, None) => self.transcript.scroll_lines(i32::from(WHEEL)),
            (kind @ (MouseKind::Press | MouseKind::Drag | MouseKind::Release), None) => {
                let area = self.areas.main;
                let inside = area.contains((mouse.column, mouse.row).into());
                // A button that went down elsewhere selects nothing; one that is held may leave the area.
                if kind == MouseKind::Press && !inside {
                    return;
                }
                let column = mouse.column.saturating_sub(area.x).min(area.width.saturating_sub(1));
                let row = mouse.row.saturating_sub(area.y).min(area.height.saturating_sub(1));
                if let Some(text) = self.transcript.mouse(kind, column, row) {
                    self.copy(text);
                }
            }
        }
    }
}
