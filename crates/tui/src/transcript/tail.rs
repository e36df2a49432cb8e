//! The last rows, for the normal screen.

use ratatui_core::text::Line;

use super::call::Room;
use super::document::Document;
use super::layout::Layout;
use super::row::{Rows, whole};
use crate::theme::Theme;

/// Lays out the last rows of a width, without images.
pub(super) fn last_rows(doc: &mut Document, width: u16, rows: usize, theme: &Theme) -> Vec<Line<'static>> {
    let width = width.max(1);
    let now = doc.layouts.now;
    // Upside down, because what is last is laid out first.
    let mut lines: Vec<Line<'static>> = Vec::new();
    for at in (0..doc.items.len()).rev() {
        if lines.len() >= rows {
            break;
        }
        let gap = doc.has_gap(at);
        let folds = doc.folds;
        let Some(item) = doc.items.get_mut(at) else { continue };
        let open = item.is_open(folds);
        let layout = Layout::of(item, Room { width, theme, open, images: None }, gap, now);
        let inner = width.saturating_sub(layout.indent).max(1);
        let texts = match item.words().filter(|_| layout.elsewhere) {
            Some(text) => text.lines(inner, theme).unwrap_or_default(),
            None => &layout.lines,
        };
        let shown = Rows { own: &layout.rows, lines: texts, indent: layout.indent, over: layout.over };
        lines.extend((0..shown.len()).rev().filter_map(|row| shown.get(row)).map(whole));
    }
    lines.truncate(rows);
    lines.reverse();
    lines
}
