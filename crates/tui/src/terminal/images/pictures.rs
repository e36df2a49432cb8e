//! `Pictures`: frames with images, for those who check what a terminal is written.

use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{ImageCache, ImageProtocol};
use crate::image::{CellSize, ImageDisplay, ImagePlacement};
use crate::terminal::paint::{FrameParts, ScreenPainter};

/// The output for a terminal that shows images.
#[derive(Debug)]
pub struct ImagePainter {
    painter: ScreenPainter,
    gallery: ImageCache,
}

impl ImagePainter {
    /// Of a terminal that takes them this way, with cells of the usual size.
    pub fn new(protocol: ImageProtocol) -> Self {
        let mut gallery = ImageCache::new(protocol, 0);
        gallery.set_cell_size(Some(CellSize::USUAL));
        Self { painter: ScreenPainter::default(), gallery }
    }

    /// Returns the way it shows them.
    pub fn image_display(&self) -> Option<Arc<ImageDisplay>> {
        self.gallery.image_display()
    }

    /// A frame, with those of its images that are ready.
    pub fn render_frame(
        &mut self,
        area: Rect,
        draw: impl FnOnce(Rect, &mut Buffer) -> (Option<(u16, u16)>, Vec<ImagePlacement>),
    ) -> String {
        let Self { painter, gallery } = self;
        painter.render_frame_with(area, |area, buffer| {
            let (cursor, placements) = draw(area, buffer);
            FrameParts { cursor, images: gallery.place_images(&placements, buffer) }
        })
    }

    /// Makes one ready that is not yet; whether there was any.
    pub async fn encode_next(&mut self) -> bool {
        let any = self.gallery.is_encoding();
        if any {
            self.gallery.finish_encoding().await;
        }
        any
    }

    /// Returns the text that takes them from the terminal.
    pub fn clear_images(&mut self) -> String {
        self.painter.clear_images()
    }
}
