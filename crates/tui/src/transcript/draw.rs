//! Drawing of the visible part.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

use super::Transcript;
use super::document::{RowPosition, TranscriptDocument};
use super::row::{ImageScreen, RowView};
use super::view::TranscriptView;
use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::image::ImagePlacement;
use crate::theme::Role;
use crate::wrap::{RowPrefixes, WrapMode, wrap};

/// The number of items around the visible ones that stay laid out.
const NEAR: usize = 50;

impl Transcript {
    /// Draws the visible part. Only layouts for the next frame are cached; nothing else changes.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let screen = buffer.area.height;
        let images = look.images.clone().map(|images| ImageScreen { images, screen });
        self.doc.layouts.now = Some(look.now);
        if !self.doc.fit_layouts(area.width, &look.theme, images) {
            self.finder.forget_from(0);
        }
        self.view.update_visible(&mut self.doc, usize::from(area.height));
        let shown = std::mem::take(&mut self.view.shown);
        let marks = self.finder.visible_marks(&mut self.doc, &shown);
        let found = look.theme.style(Role::SearchMatch);
        let current = found.add_modifier(Modifier::UNDERLINED | Modifier::BOLD);
        for (y, at) in (area.y..).zip(&shown) {
            let row = Rect { y, height: 1, ..area };
            paint_row(&mut self.doc, *at, row, buffer, look);
            for mark in marks.iter().filter(|mark| mark.at == *at) {
                apply_style(buffer, row, mark.from, mark.to, if mark.current { current } else { found });
            }
            self.paint_selection(*at, row, buffer, look);
        }
        self.view.placements = place_images(&mut self.doc, &shown, area, buffer);
        self.view.shown = shown;
        if self.view.below && self.view.top.is_some() {
            paint_below(&self.doc, &self.view, area, buffer, look);
        }
        let item = |at: Option<&RowPosition>| at.map_or(0, |at| at.item);
        let (first, last) = (item(self.view.shown.first()), item(self.view.shown.last()));
        self.doc.retain_layouts(first.saturating_sub(NEAR)..=last.saturating_add(NEAR));
    }

    fn paint_selection(&mut self, at: RowPosition, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        let columns = self.selecting.selection.and_then(|selection| selection.columns_on_row(at));
        let cursor = self.browse.as_ref().map(|browse| browse.cursor).filter(|cursor| cursor.at == at);
        let Some(row) = self.doc.rows(at.item).get(at.row) else { return };
        if let Some((from, to)) = columns {
            let to = to.min(row.cells().last().map_or(from, |cell| cell.from + cell.columns.max(1) - 1));
            apply_style(buffer, area, from.max(row.first_column()), to, look.theme.style(Role::Selection));
        }
        if let Some(cursor) = cursor {
            let style = Style::new().add_modifier(Modifier::REVERSED);
            let cell = row.cells().find(|cell| cell.from + cell.columns.max(1) > cursor.column);
            let (from, columns) =
                cell.map_or((row.first_column(), 1), |cell| (cell.from, cell.columns.max(1)));
            apply_style(buffer, area, from, from + columns - 1, style);
        }
    }
}

pub(super) fn paint_row(
    doc: &mut TranscriptDocument,
    at: RowPosition,
    area: Rect,
    buffer: &mut Buffer,
    look: &DrawContext,
) {
    let is_head = doc.items.get(at.item).is_some_and(|item| item.running_call().is_some())
        && at.row == doc.gap_rows(at.item);
    let head = is_head.then(|| doc.items.get(at.item)?.running_call()).flatten();
    let head = head.map(|call| call.header_row(area.width, &look.theme, Some(look.now)));
    let Some(row) = doc.rows(at.item).get(at.row) else { return };
    let RowView { line, indent, ground, over, .. } = row;
    if let Some(ground) = ground {
        buffer.set_style(area, ground);
    }
    let indent = indent.min(area.width - 1);
    buffer.set_line(area.x + indent, area.y, head.as_ref().unwrap_or(line), area.width - indent);
    if let Some(over) = over {
        buffer.set_style(area, over);
    }
}

fn paint_below(
    doc: &TranscriptDocument,
    view: &TranscriptView,
    area: Rect,
    buffer: &mut Buffer,
    look: &DrawContext,
) {
    if area.height < 2 {
        return;
    }
    let last = view.shown.last().map_or(0, |at| at.item);
    let below = (doc.items.len() - last.min(doc.items.len())).saturating_sub(1);
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
    if let Some(line) = wrap(&[text], area.width, &RowPrefixes::default(), WrapMode::Columns).first() {
        buffer.set_line(area.x, y, line, area.width);
    }
}

/// Places the images that are completely visible. For an image that is cut off above, the first row shows its label.
fn place_images(
    doc: &mut TranscriptDocument,
    shown: &[RowPosition],
    area: Rect,
    buffer: &mut Buffer,
) -> Vec<ImagePlacement> {
    let mut placements = Vec::new();
    for (nth, (y, at)) in (area.y..).zip(shown).enumerate() {
        let row = doc.rows(at.item).get(at.row);
        let Some((part, column)) = row.and_then(|row| Some((row.part?.clone(), row.first_column()))) else {
            continue;
        };
        if part.row > 0 {
            if nth == 0 {
                let words = RowPosition { row: at.row.saturating_sub(part.row), ..*at };
                put_words(doc, words, Rect { y, height: 1, ..area }, buffer);
            }
            continue;
        }
        let (columns, rows) = part.size;
        let last = RowPosition { row: at.row + usize::from(rows) - 1, ..*at };
        if shown.get(nth + usize::from(rows) - 1) != Some(&last) {
            continue;
        }
        let x = area.x.saturating_add(u16::try_from(column).unwrap_or(u16::MAX)).min(area.right());
        let space = Rect { x, y, width: area.right() - x, height: rows };
        let image = Rect { width: columns.min(space.width), ..space };
        placements.push(ImagePlacement::mark_area(part.image, image, space, buffer));
    }
    placements
}

fn put_words(doc: &mut TranscriptDocument, words: RowPosition, row: Rect, buffer: &mut Buffer) {
    if let Some(shown) = doc.rows(words.item).get(words.row) {
        let indent = shown.indent.min(row.width.saturating_sub(1));
        buffer.set_line(row.x + indent, row.y, shown.line, row.width - indent);
    }
}

/// Applies a style to columns of a row, both included.
fn apply_style(buffer: &mut Buffer, row: Rect, from: usize, to: usize, style: Style) {
    let width = usize::from(row.width);
    if from > to || from >= width {
        return;
    }
    let to = to.min(width - 1);
    let [from, columns] = [from, to - from + 1].map(|columns| u16::try_from(columns).unwrap_or(u16::MAX));
    buffer.set_style(Rect { x: row.x.saturating_add(from), width: columns, ..row }, style);
}
