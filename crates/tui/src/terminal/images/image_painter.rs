//! `ImagePainter`: renders frames with images, for tests of the output.

use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{ImageCache, ImageProtocol};
use crate::image::{CellSize, ImageDisplay, ImagePlacement};
use crate::terminal::paint::{FrameParts, ScreenPainter};

/// Renders the output for a terminal with images.
#[derive(Debug)]
pub struct ImagePainter {
    painter: ScreenPainter,
    gallery: ImageCache,
}

impl ImagePainter {
    /// Makes a painter for a protocol, with the usual cell size.
    pub fn new(protocol: ImageProtocol) -> Self {
        let mut gallery = ImageCache::new(protocol, 0);
        gallery.set_cell_size(Some(CellSize::USUAL));
        Self { painter: ScreenPainter::default(), gallery }
    }

    /// Returns the image support.
    pub fn image_display(&self) -> Option<Arc<ImageDisplay>> {
        self.gallery.image_display()
    }

    /// Renders a frame with the images that are encoded.
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

    /// Encodes the next missing image. Returns false if there was none.
    pub async fn encode_next(&mut self) -> bool {
        let any = self.gallery.is_encoding();
        if any {
            self.gallery.finish_encoding().await;
        }
        any
    }

    /// Returns the text that removes the images from the terminal.
    pub fn clear_images(&mut self) -> String {
        self.painter.clear_images()
    }
}
