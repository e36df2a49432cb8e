//! Images, on terminals that show them.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::event::AgentEvent;
use haft_tui::terminal::ImageProtocol;

use super::hand::RenderTarget;
use super::stage::HeadlessInterface;
use super::transcript::{image, time};
use super::{ScreenScene, ScreenSink, scene, sink};

const WAYS: [(&str, ImageProtocol, &str); 3] = [
    ("images by kitty's way", ImageProtocol::Kitty, "\x1b_ga=p"),
    ("images by iterm2's way", ImageProtocol::Iterm, "\x1b]1337;"),
    ("images as sixels", ImageProtocol::Sixel, "\x1bp0;1;0q"),
];

const SINKS: &[ScreenSink] =
    &[sink("what is in an image, and its kind", 2, show_image), sink("kinds of what is none", 1, image)];

pub(super) fn scenes() -> Vec<ScreenScene> {
    let place = RenderTarget::Pictures;
    WAYS.map(|(what, protocol, _)| ScreenScene { place: place(protocol), ..scene(what, (60, 30), SINKS) })
        .into()
}

/// Returns the defect of a scene of images in which none was shown.
pub(super) fn missing_image(scene: &ScreenScene, said: &str) -> Option<String> {
    let way = WAYS.iter().find(|(_, protocol, _)| scene.place == RenderTarget::Pictures(*protocol))?;
    (!said.contains(way.2)).then(|| format!("{}: none is shown", scene.what))
}

/// One that can be decoded, with a text for its colours and for what it says about itself.
fn show_image(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [text, kind] = texts else { return Ok(()) };
    let data = STANDARD.encode(encode_gif(text.as_bytes())).into();
    // Both are words as long as it is not shown.
    let content =
        vec![ContentBlock::text(text.clone()), ContentBlock::Image(Image { mime_type: kind.clone(), data })];
    stage.event(AgentEvent::UserMessage { content, time: time() });
    Ok(())
}

/// Two by two points.
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
