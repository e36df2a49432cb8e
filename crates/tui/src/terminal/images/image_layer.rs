//! `ImageLayer`: the images that the terminal shows, and their positions.

use std::fmt::Write as _;
use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::encode::{DisplayMethod, EncodedImage};
use crate::image::invalidate_cell;

const MOST_SENT: usize = 16;

#[derive(Debug, Clone)]
pub(in crate::terminal) struct PlacedImage {
    pub(super) encoded: Arc<EncodedImage>,
    pub(super) area: Rect,
}

#[derive(Debug, Default)]
pub(in crate::terminal) struct ImageLayer {
    shown: Vec<PlacedImage>,
    /// The numbers of the images that the terminal stores; the most recently shown is last.
    sent: Vec<u32>,
}

impl PlacedImage {
    fn is_same(&self, other: &Self) -> bool {
        self.encoded.number == other.encoded.number && self.area == other.area
    }

    fn is_drawn_into_cells(&self) -> bool {
        self.encoded.way == DisplayMethod::Drawn
    }
}

impl ImageLayer {
    /// Removes images that the next frame lacks, before its cells are written. Cells below an image that was drawn
    /// into them are unknown, so they are forgotten.
    pub(in crate::terminal) fn remove_missing(&mut self, next: &[PlacedImage], cells: &mut Buffer) -> String {
        let mut out = String::new();
        self.shown.retain(|old| {
            let stays = next.iter().any(|new| new.is_same(old));
            if !stays && old.is_drawn_into_cells() {
                let area = old.area.intersection(cells.area);
                area.positions().for_each(|at| cells.cell_mut(at).map_or((), invalidate_cell));
            } else if !stays {
                let _ = write!(out, "\x1b_Ga=d,d=i,i={},p=1,q=2\x1b\\", old.encoded.number);
            }
            stays
        });
        out
    }

    /// True if an image is drawn into this cell.
    pub(in crate::terminal) fn covers_cell(&self, x: u16, y: u16) -> bool {
        self.shown.iter().any(|image| image.is_drawn_into_cells() && image.area.contains((x, y).into()))
    }

    /// Forgets images that were drawn into cells that have been overwritten.
    pub(in crate::terminal) fn forget_overwritten(&mut self, cells: &[(u16, u16)]) {
        let is_hit = |image: &PlacedImage| cells.iter().any(|cell| image.area.contains((*cell).into()));
        self.shown.retain(|image| !(image.is_drawn_into_cells() && is_hit(image)));
    }

    /// Shows the missing images, after the cells were written.
    pub(in crate::terminal) fn show_images(&mut self, next: Vec<PlacedImage>) -> String {
        let mut out = String::new();
        for new in &next {
            if self.shown.iter().any(|old| old.is_same(new)) {
                continue;
            }
            let EncodedImage { number, way, text } = new.encoded.as_ref();
            let Rect { x, y, width, height } = new.area;
            let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
            match way {
                DisplayMethod::Drawn => out.push_str(text),
                DisplayMethod::Placed => {
                    let known = self.sent.iter().position(|sent| sent == number);
                    match known {
                        Some(at) => drop(self.sent.remove(at)),
                        None => out.push_str(text),
                    }
                    self.sent.push(*number);
                    let _ = write!(out, "\x1b_Ga=p,i={number},p=1,c={width},r={height},C=1,q=2\x1b\\");
                }
            }
        }
        self.shown = next;
        self.evict_old(&mut out);
        out
    }

    /// Deletes images that the terminal has not shown for a long time.
    fn evict_old(&mut self, out: &mut String) {
        let (shown, too_many) = (&self.shown, self.sent.len().saturating_sub(MOST_SENT));
        let is_shown = |number: u32| shown.iter().any(|image| image.encoded.number == number);
        let old: Vec<u32> =
            self.sent.iter().copied().filter(|number| !is_shown(*number)).take(too_many).collect();
        self.sent.retain(|number| !old.contains(number));
        old.into_iter().for_each(|number| push_delete(out, number));
    }

    /// Deletes all images of the terminal. Its content is unknown afterwards.
    pub(in crate::terminal) fn forget_images(&mut self) -> String {
        self.shown.clear();
        let mut out = String::new();
        self.sent.drain(..).for_each(|number| push_delete(&mut out, number));
        out
    }
}

fn push_delete(out: &mut String, number: u32) {
    let _ = write!(out, "\x1b_Ga=d,d=I,i={number},q=2\x1b\\");
}

#[cfg(test)]
#[path = "image_layer/tests.rs"]
mod tests;
