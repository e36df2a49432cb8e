//! The inline mode: the same scenes at the end of the normal screen, below printed text.

use super::ScreenScene;
use super::painting::RenderTarget;

/// Returns the scenes for the inline mode.
pub(super) fn scenes(drawn: &[ScreenScene]) -> Vec<ScreenScene> {
    drawn.iter().map(|scene| ScreenScene { place: RenderTarget::Inline, ..*scene }).collect()
}
