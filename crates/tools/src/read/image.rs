//! Images, known by their first bytes.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use haft_core::image;
use haft_core::tool::ToolOutput;
use haft_protocol::content::{Content, Image};

use crate::builtin::ToolFailure;

pub(super) fn too_big(shown: &str, len: u64) -> ToolFailure {
    format!("{shown} is an image of {len} bytes, more than 5 MiB; make it smaller first").into()
}

pub(super) fn show(shown: &str, bytes: &[u8]) -> Result<ToolOutput, ToolFailure> {
    if bytes.len() > image::MAX_BYTES {
        return Err(too_big(shown, bytes.len() as u64));
    }
    let mime_type = image::check(bytes).map_err(|error| format!("{shown} cannot be shown: {error}"))?;
    let note = Content::text(format!("[{shown}: {mime_type}, {} bytes]", bytes.len()));
    let block = Image { mime_type: mime_type.to_owned(), data: BASE64_STANDARD.encode(bytes).into() };
    Ok(ToolOutput { content: vec![note, Content::Image(block)], ..ToolOutput::text("") })
}
