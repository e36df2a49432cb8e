//! What is seen, on the screen.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

use super::Transcript;
use super::row::Shown;
use super::view::Position;
use crate::clean::{CleanLine, span};
use crate::look::Look;
use crate::theme::Role;
use crate::wrap::{Hang, Mode, wrap};

/// How many items around what is seen stay laid out.
const NEAR: usize = 50;

impl Transcript {
    pub(super) fn paint(&mut self, area: Rect, buffer: &mut Buffer, look: &Look) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        if !self.layouts.fit(area.width, look, buffer.area.height) {
            let forgotten = self.layouts.forget_from(0);
            self.compress(forgotten);
            self.forget_searched(0);
        }
        self.look(usize::from(area.height));
        let shown = std::mem::take(&mut self.view.shown);
        let mut marks = self.marks(&shown);
        for (y, at) in (area.y..).zip(&shown) {
            let row = Rect { y, height: 1, ..area };
            self.paint_row(*at, row, buffer, look);
            let style = look.theme.style(Role::SearchMatch);
            for mark in marks.iter_mut().filter(|mark| mark.at == *at) {
                let style = if mark.current {
                    style.add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
                } else {
                    style
                };
                lay(buffer, row, mark.from, mark.to, style);
            }
            self.paint_selection(*at, row, buffer, look);
        }
        self.place(&shown, area, buffer);
        self.view.shown = shown;
        if self.view.below && !self.view.follow {
            self.paint_below(area, buffer, look);
        }
        self.forget_far();
    }

    pub(super) fn paint_row(&mut self, at: Position, area: Rect, buffer: &mut Buffer, look: &Look) {
        let is_head = self.items.get(at.item).is_some_and(|item| item.running().is_some())
            && at.row == self.gap_rows(at.item);
        let head = is_head.then(|| self.items.get(at.item)?.running()).flatten();
        let head = head.map(|call| call.head(area.width, &look.theme, Some(look.now)));
        let Some(row) = self.rows(at.item).get(at.row) else { return };
        let Shown { line, indent, ground, over, .. } = row;
        if let Some(ground) = ground {
            buffer.set_style(area, ground);
        }
        let indent = indent.min(area.width - 1);
        buffer.set_line(area.x + indent, area.y, head.as_ref().unwrap_or(line), area.width - indent);
        if let Some(over) = over {
            buffer.set_style(area, over);
        }
    }

    /// What is selected of a row, and the cursor.
    fn paint_selection(&mut self, at: Position, area: Rect, buffer: &mut Buffer, look: &Look) {
        let columns = self.selected_columns(at);
        let cursor = self.browse.as_ref().map(|browse| browse.cursor).filter(|cursor| cursor.at == at);
        let Some(row) = self.rows(at.item).get(at.row) else { return };
        if let Some((from, to)) = columns {
            let to = to.min(row.cells().last().map_or(from, |cell| cell.from + cell.columns.max(1) - 1));
            lay(buffer, area, from.max(row.first_column()), to, look.theme.style(Role::Selection));
        }
        if let Some(cursor) = cursor {
            let style = Style::new().add_modifier(Modifier::REVERSED);
            let cell = row.cells().find(|cell| cell.from + cell.columns.max(1) > cursor.column);
            let (from, columns) =
                cell.map_or((row.first_column(), 1), |cell| (cell.from, cell.columns.max(1)));
            lay(buffer, area, from, from + columns - 1, style);
        }
    }

    /// That there is more below what is seen.
    fn paint_below(&mut self, area: Rect, buffer: &mut Buffer, look: &Look) {
        if area.height < 2 {
            return;
        }
        let last = self.view.shown.last().map_or(0, |at| at.item);
        let below = (self.items.len() - last.min(self.items.len())).saturating_sub(1);
        let text = match below {
            0 => "── ↓ more · shift+end ──".to_owned(),
            below => format!("── ↓ {below} more · shift+end ──"),
        };
        let text = span(CleanLine::new(&text), look.theme.style(Role::Muted));
        let y = area.bottom() - 1;
        let row = Rect { y, height: 1, ..area };
        for x in row.left()..row.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
            }
        }
        buffer.set_style(row, look.theme.style(Role::Background));
        if let Some(line) = wrap(&[text], area.width, &Hang::default(), Mode::Columns).first() {
            buffer.set_line(area.x, y, line, area.width);
        }
    }

    /// Keeps the layouts of what is seen and of what is around it.
    fn forget_far(&mut self) {
        let first = self.view.shown.first().map_or(0, |at| at.item).saturating_sub(NEAR);
        let last = self.view.shown.last().map_or(0, |at| at.item).saturating_add(NEAR);
        let forgotten = self.layouts.keep_only(first..=last);
        self.compress(forgotten);
    }
}

/// Lays a style over columns of a row, both included.
fn lay(buffer: &mut Buffer, row: Rect, from: usize, to: usize, style: Style) {
    let width = usize::from(row.width);
    if from > to || from >= width {
        return;
    }
    let to = to.min(width - 1);
    let [from, columns] = [from, to - from + 1].map(|columns| u16::try_from(columns).unwrap_or(u16::MAX));
    buffer.set_style(Rect { x: row.x.saturating_add(from), width: columns, ..row }, style);
}
