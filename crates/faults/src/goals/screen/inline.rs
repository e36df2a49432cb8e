//! The same at the end of the terminal's own screen, below what is printed there.

use super::Scene;
use super::hand::Place;

/// The scenes as they are there.
pub(super) fn scenes(drawn: &[Scene]) -> Vec<Scene> {
    drawn.iter().map(|scene| Scene { place: Place::Inline, ..*scene }).collect()
}
