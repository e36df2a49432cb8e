//! Images, known by their first bytes.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use haft_core::image;
use haft_core::tool::ToolOutput;
use haft_protocol::content::{Content, Image};

use crate::builtin::ToolFailure;
use crate::environment::Environment;
use crate::path;

pub(super) async fn read(
    environment: &dyn Environment,
    path: &Path,
    len: u64,
) -> Result<ToolOutput, ToolFailure> {
    let shown = path::show(environment, path);
    // One byte more than allowed: the length may be out of date.
    let bytes = if len > image::MAX_BYTES as u64 {
        Vec::new()
    } else {
        environment.read(path, 0, image::MAX_BYTES + 1).await?
    };
    if bytes.is_empty() || bytes.len() > image::MAX_BYTES {
        return Err(
            format!("{shown} is an image of {len} bytes, more than 5 MiB; make it smaller first").into()
        );
    }
    let mime_type = image::check(&bytes).map_err(|error| format!("{shown} cannot be shown: {error}"))?;
    let note = Content::text(format!("[{shown}: {mime_type}, {} bytes]", bytes.len()));
    let block = Image { mime_type: mime_type.to_owned(), data: BASE64_STANDARD.encode(bytes).into() };
    Ok(ToolOutput { content: vec![note, Content::Image(block)], is_error: false, details: None })
}
