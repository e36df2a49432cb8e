//! The same where nothing is drawn and lines are printed.

use super::hand::RenderTarget;
use super::transcript::{answer, calls, image, show_user_messages};
use super::{ScreenScene, scene, sink};

/// Text that leads to printed lines, too, by every one of its ways.
const PRINTED: &[&str] = &[
    "notes and what waits",
    "panel",
    "panel, drawn again",
    "thinking, shown",
    "Markdown",
    "code",
    "reports",
    "the shell",
    "yes or no",
    "a question that grants a call",
    "a choice",
    "a gate that fails",
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

/// Scenes that are printed otherwise than they are drawn: when it is whole.
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

/// The scenes that can be played in lines.
pub(super) fn scenes(drawn: &[ScreenScene]) -> Vec<ScreenScene> {
    let is_printed = |scene: &&ScreenScene| PRINTED.contains(&scene.what);
    drawn
        .iter()
        .filter(is_printed)
        .chain(WHOLE)
        .map(|scene| ScreenScene { place: RenderTarget::Lines, ..*scene })
        .collect()
}
