//! Images, on terminals that show them.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::event::AgentEvent;
use haft_tui::terminal::ImageProtocol;

use super::painting::RenderTarget;
use super::stage::HeadlessInterface;
use super::transcript::{image, time};
use super::{ScreenScene, ScreenSink, scene, sink};

const WAYS: [(&str, ImageProtocol, &str); 3] = [
    ("images in kitty's protocol", ImageProtocol::Kitty, "\x1b_ga=p"),
    ("images in iTerm2's protocol", ImageProtocol::Iterm, "\x1b]1337;"),
    ("images as sixels", ImageProtocol::Sixel, "\x1bp0;1;0q"),
];

const SINKS: &[ScreenSink] =
    &[sink("content and type of an image", 2, show_image), sink("types of other content", 1, image)];

pub(super) fn scenes() -> Vec<ScreenScene> {
    let place = RenderTarget::Pictures;
    WAYS.map(|(what, protocol, _)| ScreenScene { place: place(protocol), ..scene(what, (60, 30), SINKS) })
        .into()
}

/// Returns the defect of a scene in which no image was shown.
pub(super) fn missing_image(scene: &ScreenScene, said: &str) -> Option<String> {
    let way = WAYS.iter().find(|(_, protocol, _)| scene.place == RenderTarget::Pictures(*protocol))?;
    (!said.contains(way.2)).then(|| format!("{}: no image is shown", scene.what))
}

/// Shows an image that can be decoded, with a text in its colors and its comment.
fn show_image(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [text, kind] = texts else { return Ok(()) };
    let data = STANDARD.encode(encode_gif(text.as_bytes())).into();
    // Both are words as long as the image is not shown.
    let content =
        vec![ContentBlock::text(text.clone()), ContentBlock::Image(Image { mime_type: kind.clone(), data })];
    stage.event(AgentEvent::UserMessage { content, time: time(), entry: None });
    Ok(())
}

/// Returns a GIF of two by two pixels.
fn encode_gif(text: &[u8]) -> Vec<u8> {
    let mut gif = b"GIF89a\x02\0\x02\0\xf1\0\0".to_vec();
    gif.extend(text.iter().copied().chain(std::iter::repeat(27)).take(12));
    gif.extend(b"\x21\xfe");
    for block in text.chunks(255) {
        gif.push(u8::try_from(block.len()).unwrap_or_default());
        gif.extend(block);
    }
    gif.extend(b"\0\x2c\0\0\0\0\x02\0\x02\0\0\x02\x03\x44\xa8\x15\0;");
    gif.extend(text);
    gif
}
