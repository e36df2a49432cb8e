//! The same at the end of the terminal's own screen, below what is printed there.

use super::ScreenScene;
use super::hand::RenderTarget;

/// The scenes as they are there.
pub(super) fn scenes(drawn: &[ScreenScene]) -> Vec<ScreenScene> {
    drawn.iter().map(|scene| ScreenScene { place: RenderTarget::Inline, ..*scene }).collect()
}
