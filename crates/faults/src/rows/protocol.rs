//! Group P: protocol and framing.

pub(super) mod frames;
pub(super) mod hello;
pub(super) mod lines;

/// Returns a frame with its newline.
pub(super) fn line(text: impl std::fmt::Display) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}
