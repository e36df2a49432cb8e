//! `DrawContext`: what everything that is drawn is drawn with.

use std::sync::Arc;
use std::time::Instant;

use crate::image::ImageDisplay;
use crate::theme::Theme;

/// The look of everything that is drawn. The same look and the same state make the same picture.
#[derive(Debug, Clone)]
pub struct DrawContext {
    /// Reduced to the colours that the terminal has.
    pub theme: Theme,
    /// The moment of the frame: spinners, elapsed times and countdowns are of it.
    pub now: Instant,
    /// The way images are shown; none where words replace them.
    pub images: Option<Arc<ImageDisplay>>,
}
