//! `DrawContext`: the common inputs of all drawing.

use std::sync::Arc;
use std::time::Instant;

use crate::image::ImageDisplay;
use crate::theme::Theme;

/// The common inputs of all drawing. The same context and the same state produce the same picture.
#[derive(Debug, Clone)]
pub struct DrawContext {
    /// The theme, reduced to the colors of the terminal.
    pub theme: Theme,
    /// The time of the frame, for spinners, elapsed times and countdowns.
    pub now: Instant,
    /// The image support. `None` if labels replace images.
    pub images: Option<Arc<ImageDisplay>>,
}
