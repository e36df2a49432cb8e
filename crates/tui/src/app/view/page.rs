//! A page to read, with its frame.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::look::Look;
use crate::theme::Role;

use super::super::page::Page;
use super::put;

pub(super) fn draw(page: &mut Page, area: Rect, buffer: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    let title = CleanLine::new(&page.title).shortened(usize::from(area.width.saturating_sub(2)));
    put(buffer, area, 0, &Line::from(span(title, theme.style(Role::Heading))));
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
    let (lines, above, below) = page.rows(area.width, body.height, theme);
    for (row, line) in (0..body.height).zip(lines) {
        put(buffer, body, row, line);
    }
    let hint = match (above, below) {
        (false, false) => "esc closes",
        (_, true) => "↓ more · esc closes",
        (true, false) => "the end · esc closes",
    };
    if area.height > 1 {
        put(buffer, area, area.height - 1, &Line::from(span(hint, theme.style(Role::Muted))));
    }
}
