//! Line output: the scenes whose texts are printed instead of drawn.

use super::painting::RenderTarget;
use super::transcript::{answer, calls, image, show_user_messages};
use super::{ScreenScene, scene, sink};

/// The scenes in which every sink also leads to printed lines.
const PRINTED: &[&str] = &[
    "notes and queue",
    "panel",
    "panel, drawn again",
    "thinking, shown",
    "Markdown",
    "code",
    "reports",
    "the shell",
    "yes or no",
    "an approval of a call",
    "a choice",
    "a failing gate",
    "trust",
    "models",
    "sessions",
    "the tree",
    "tools",
    "extensions",
    "skills",
    "settings",
    "help",
    "cost",
];

/// Scenes that are printed in another form than drawn: only when they are complete.
const WHOLE: &[ScreenScene] = &[
    scene(
        "said, in lines",
        (60, 24),
        &[
            sink("user's messages", 2, show_user_messages),
            sink("kinds of images", 1, image),
            sink("answers", 2, answer),
        ],
    ),
    scene("calls, in lines", (90, 60), calls::PRINTED),
];

/// Returns the scenes for line output.
pub(super) fn scenes(drawn: &[ScreenScene]) -> Vec<ScreenScene> {
    let is_printed = |scene: &&ScreenScene| PRINTED.contains(&scene.what);
    drawn
        .iter()
        .filter(is_printed)
        .chain(WHOLE)
        .map(|scene| ScreenScene { place: RenderTarget::Lines, ..*scene })
        .collect()
}
