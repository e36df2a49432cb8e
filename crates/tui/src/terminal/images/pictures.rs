//! `Pictures`: frames with images, for those who check what a terminal is written.

use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{Gallery, Protocol};
use crate::image::{CellSize, Images, Placement};
use crate::terminal::paint::{Drawn, Painter};

/// The output for a terminal that shows images.
#[derive(Debug)]
pub struct Pictures {
    painter: Painter,
    gallery: Gallery,
}

impl Pictures {
    /// Of a terminal that takes them this way, with cells of the usual size.
    pub fn new(protocol: Protocol) -> Self {
        let mut gallery = Gallery::new(protocol, 0);
        gallery.measured(Some(CellSize::USUAL));
        Self { painter: Painter::default(), gallery }
    }

    /// Returns the way it shows them.
    pub fn images(&self) -> Option<Arc<Images>> {
        self.gallery.images()
    }

    /// A frame, with those of its images that are ready.
    pub fn frame(
        &mut self,
        area: Rect,
        draw: impl FnOnce(Rect, &mut Buffer) -> (Option<(u16, u16)>, Vec<Placement>),
    ) -> String {
        let Self { painter, gallery } = self;
        painter.frame_of(area, |area, buffer| {
            let (cursor, placements) = draw(area, buffer);
            Drawn { cursor, images: gallery.hang(&placements, buffer) }
        })
    }

    /// Makes one ready that is not yet; whether there was any.
    pub async fn make_ready(&mut self) -> bool {
        let any = self.gallery.is_at_work();
        if any {
            self.gallery.ready().await;
        }
        any
    }

    /// Returns the text that takes them from the terminal.
    pub fn farewell(&mut self) -> String {
        self.painter.farewell()
    }
}
