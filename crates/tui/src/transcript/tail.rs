//! The last rows, for the normal screen.

use ratatui_core::text::Line;

use super::Transcript;
use super::call::Room;
use super::layout::Layout;
use super::row::Rows;
use super::settle::whole;
use crate::theme::Theme;

impl Transcript {
    pub(super) fn last_rows(&mut self, width: u16, rows: usize, theme: &Theme) -> Vec<Line<'static>> {
        let width = width.max(1);
        let now = self.layouts.now;
        // Upside down, because what is last is laid out first.
        let mut lines: Vec<Line<'static>> = Vec::new();
        for at in (0..self.items.len()).rev() {
            if lines.len() >= rows {
                break;
            }
            let compact = |at: usize| self.items.get(at).is_some_and(super::item::Item::is_compact);
            let gap = at.checked_sub(1).is_some_and(|before| !(compact(before) && compact(at)));
            let folds = self.folds;
            let Some(item) = self.items.get_mut(at) else { continue };
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
}
