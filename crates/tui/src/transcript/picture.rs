//! An image that somebody sent or a tool gave, and its rows.

use std::sync::Arc;

use haft_protocol::content::{Content, Image};

use super::row::{Part, Row};
use crate::image::{ImageFacts, Images};

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

impl PartialEq for Showing {
    fn eq(&self, other: &Self) -> bool {
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
