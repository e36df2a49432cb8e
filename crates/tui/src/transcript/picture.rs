//! An image that somebody sent or a tool gave: its rows, and where they are seen.

use std::sync::Arc;

use haft_protocol::content::{Content, Image};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::Transcript;
use super::row::{Part, Row};
use super::view::Position;
use crate::image::{ImageFacts, Images, Placement};

/// An image. What it is made of is kept for terminals that can show it.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    pub(super) facts: ImageFacts,
    image: Arc<Image>,
}

/// How images are shown, and on a screen of how many rows.
#[derive(Debug, Clone)]
pub(super) struct Showing {
    pub(super) images: Arc<Images>,
    pub(super) screen: u16,
}

impl Showing {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.images, &other.images) && self.screen == other.screen
    }
}

impl Picture {
    pub(super) fn all(content: &[Content]) -> Vec<Self> {
        let images = content.iter().filter_map(|content| match content {
            Content::Image(image) => Some(image),
            Content::Text { .. } => None,
        });
        images.map(|image| Self { facts: ImageFacts::of(image), image: Arc::new(image.clone()) }).collect()
    }

    /// Its rows: those that say what it is, with space for the image below where it is shown.
    pub(super) fn rows(&self, words: Vec<Row>, blank: &Row, width: u16, how: Option<&Showing>) -> Vec<Row> {
        let used = blank.indent.saturating_add(blank.frame);
        let columns = width.saturating_sub(used);
        let size = how.and_then(|how| how.images.space(&self.image, &self.facts, columns, how.screen));
        // Where the words take several rows, there is no room for an image either.
        let (Some(size), [first]) = (size, words.as_slice()) else { return words };
        let part = |row| Some(Part { image: self.image.clone(), size, row });
        let rest = (1..usize::from(size.1)).map(|row| Row { part: part(row), ..blank.clone() });
        std::iter::once(Row { part: part(0), ..first.clone() }).chain(rest).collect()
    }
}

impl Transcript {
    /// Places the images that are seen whole. Of one that is cut off above, the words stand in its first row.
    pub(super) fn place(&mut self, shown: &[Position], area: Rect, buffer: &mut Buffer) {
        self.view.placements.clear();
        for (nth, (y, at)) in (area.y..).zip(shown).enumerate() {
            let row = self.rows(at.item).get(at.row);
            let Some((part, column)) = row.and_then(|row| Some((row.part?.clone(), row.first_column())))
            else {
                continue;
            };
            if part.row > 0 {
                if nth == 0 {
                    let words = Position { row: at.row.saturating_sub(part.row), ..*at };
                    self.put_words(words, Rect { y, height: 1, ..area }, buffer);
                }
                continue;
            }
            let (columns, rows) = part.size;
            let last = Position { row: at.row + usize::from(rows) - 1, ..*at };
            if shown.get(nth + usize::from(rows) - 1) != Some(&last) {
                continue;
            }
            let x = area.x.saturating_add(u16::try_from(column).unwrap_or(u16::MAX)).min(area.right());
            let space = Rect { x, y, width: area.right() - x, height: rows };
            let image = Rect { width: columns.min(space.width), ..space };
            self.view.placements.push(Placement::mark(part.image, image, space, buffer));
        }
    }

    fn put_words(&mut self, words: Position, row: Rect, buffer: &mut Buffer) {
        if let Some(shown) = self.rows(words.item).get(words.row) {
            let indent = shown.indent.min(row.width.saturating_sub(1));
            buffer.set_line(row.x + indent, row.y, shown.line, row.width - indent);
        }
    }
}
