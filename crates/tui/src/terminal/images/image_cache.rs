//! `ImageCache`: the encoded images, and the image that is being encoded.

use std::sync::Arc;

use haft_protocol::content::Image;
use ratatui_core::buffer::Buffer;
use tokio::sync::oneshot;

use super::encode::{EncodedImage, encode};
use super::{ImageProtocol, PlacedImage, decode};
use crate::image::{CellSize, ImageDisplay, ImagePlacement};

/// The maximum size of all cached images, in bytes.
const MOST_KEPT: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub(in crate::terminal) struct ImageCache {
    protocol: ImageProtocol,
    /// `None` if the cell size is unknown, because an image could then have any size.
    images: Option<Arc<ImageDisplay>>,
    /// The images; the most recently shown is last.
    kept: Vec<CachedImage>,
    job: Option<EncodeJob>,
    number: u32,
}

/// An image with its columns and rows.
#[derive(Debug, Clone)]
struct ImageRequest {
    image: Arc<Image>,
    size: (u16, u16),
}

#[derive(Debug)]
struct CachedImage {
    subject: ImageRequest,
    encoded: Arc<EncodedImage>,
}

/// An image that is being encoded. One at a time bounds memory and work.
#[derive(Debug)]
struct EncodeJob {
    subject: ImageRequest,
    cell: CellSize,
    /// `None` from a thread that failed.
    ready: oneshot::Receiver<Option<EncodedImage>>,
}

impl ImageRequest {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.image, &other.image) && self.size == other.size
    }
}

impl ImageCache {
    /// Makes a cache for a protocol. Image numbers start at a random one, because other programs that share the
    /// terminal use others.
    pub(in crate::terminal) fn new(protocol: ImageProtocol, random: u32) -> Self {
        // Never 0, with room to count up.
        let number = random % 0x7fff_0000 + 1;
        Self { protocol, images: None, kept: Vec::new(), job: None, number }
    }

    /// Sets the cell size in pixels, if the terminal reports it.
    pub(in crate::terminal) fn set_cell_size(&mut self, cell: Option<CellSize>) {
        // Sixels have a fixed size: if the cells are smaller than assumed, the image would overlap other rows.
        let guess = (self.protocol != ImageProtocol::Sixel || cfg!(windows)).then_some(CellSize::USUAL);
        let cell = cell.or(guess);
        if self.images.as_ref().map(|images| images.cell_size()) != cell {
            self.images = cell.map(|cell| Arc::new(ImageDisplay::new(cell)));
            self.kept.clear();
        }
    }

    pub(in crate::terminal) fn image_display(&self) -> Option<Arc<ImageDisplay>> {
        self.images.clone()
    }

    /// Returns the images of a frame that are encoded and uncovered, and begins to encode the first missing one.
    pub(in crate::terminal) fn place_images(
        &mut self,
        placements: &[ImagePlacement],
        buffer: &mut Buffer,
    ) -> Vec<PlacedImage> {
        let mut placed = Vec::new();
        let mut missing = None;
        for placement in placements {
            let ImagePlacement { image, area, .. } = placement;
            let free = placement.is_uncovered(buffer) && self.is_placeable(placement, buffer);
            let subject = ImageRequest { image: image.clone(), size: (area.width, area.height) };
            let encoded = if free { self.get_cached(&subject) } else { None };
            placement.clear_marks(encoded.is_some(), buffer);
            match encoded {
                Some(encoded) => placed.push(PlacedImage { encoded, area: *area }),
                None if free => missing = missing.or(Some(subject)),
                None => {}
            }
        }
        if let Some(subject) = missing.filter(|_| self.job.is_none()) {
            self.start_encoding(subject);
        }
        placed
    }

    /// False for an image that reaches the last row, because it may make the terminal scroll.
    fn is_placeable(&self, placement: &ImagePlacement, buffer: &Buffer) -> bool {
        match self.protocol {
            ImageProtocol::Kitty => true,
            ImageProtocol::Iterm | ImageProtocol::Sixel => placement.area.bottom() < buffer.area.bottom(),
        }
    }

    /// Returns a cached image, and marks it as most recently used.
    fn get_cached(&mut self, subject: &ImageRequest) -> Option<Arc<EncodedImage>> {
        let at = self.kept.iter().position(|kept| kept.subject.is_same(subject))?;
        let kept = self.kept.remove(at);
        let encoded = kept.encoded.clone();
        self.kept.push(kept);
        Some(encoded)
    }

    /// Encodes an image on its own thread. No code waits for it, not even at the exit.
    fn start_encoding(&mut self, subject: ImageRequest) {
        let Some(cell) = self.images.as_ref().map(|images| images.cell_size()) else { return };
        self.number = self.number.checked_add(1).unwrap_or(1);
        let (protocol, number) = (self.protocol, self.number);
        let (done, ready) = oneshot::channel();
        let ImageRequest { image, size } = subject.clone();
        let work = move || {
            let pixels = decode::decode(&image, size, cell).ok();
            // The receiver may be gone.
            let _ = done.send(pixels.and_then(|pixels| encode(protocol, number, &pixels, size).ok()));
        };
        // If the thread cannot be started, the sender is dropped, which counts as a failure, too.
        let _ = std::thread::Builder::new().name("haft-image".to_owned()).spawn(work);
        self.job = Some(EncodeJob { subject, cell, ready });
    }

    pub(in crate::terminal) fn is_encoding(&self) -> bool {
        self.job.is_some()
    }

    pub(in crate::terminal) async fn finish_encoding(&mut self) {
        let Some(job) = &mut self.job else { return std::future::pending().await };
        let encoded = (&mut job.ready).await.ok().flatten();
        let Some(EncodeJob { subject, cell, .. }) = self.job.take() else { return };
        let Some(images) = self.images.as_ref().filter(|images| images.cell_size() == cell) else { return };
        match encoded {
            Some(encoded) => {
                self.kept.push(CachedImage { subject, encoded: Arc::new(encoded) });
                self.evict_old();
            }
            None => self.images = Some(Arc::new(images.without_image(&subject.image))),
        }
    }

    fn evict_old(&mut self) {
        let mut bytes: usize = self.kept.iter().map(|kept| kept.encoded.text.len()).sum();
        while bytes > MOST_KEPT && self.kept.len() > 1 {
            bytes -= self.kept.remove(0).encoded.text.len();
        }
    }
}

#[cfg(test)]
#[path = "image_cache/tests.rs"]
mod tests;
