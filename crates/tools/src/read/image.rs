//! Images, known by their first bytes.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use haft_core::tool::ToolOutput;
use haft_protocol::content::{Content, Image};

use crate::builtin::ToolFailure;
use crate::environment::Environment;
use crate::path;

/// The largest image in bytes; providers take no larger one.
const MAX_IMAGE: usize = 5 * 1024 * 1024;

/// The type of an image that models can see, by its first bytes.
pub(super) fn mime_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

pub(super) async fn read(
    environment: &dyn Environment,
    path: &Path,
    len: u64,
    mime_type: &'static str,
) -> Result<ToolOutput, ToolFailure> {
    let shown = path::show(environment, path);
    // One byte more than allowed: the length may be out of date.
    let bytes =
        if len > MAX_IMAGE as u64 { Vec::new() } else { environment.read(path, 0, MAX_IMAGE + 1).await? };
    if bytes.is_empty() || bytes.len() > MAX_IMAGE {
        return Err(
            format!("{shown} is an image of {len} bytes, more than 5 MiB; make it smaller first").into()
        );
    }
    let note = Content::text(format!("[{shown}: {mime_type}, {} bytes]", bytes.len()));
    let image = Image { mime_type: mime_type.to_owned(), data: BASE64_STANDARD.encode(bytes) };
    Ok(ToolOutput { content: vec![note, Content::Image(image)], is_error: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_by_their_first_bytes() {
        assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n..."), Some("image/png"));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(mime_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(mime_type(b"RIFF\x01\x02\x03\x04WEBPVP8 "), Some("image/webp"));
        assert_eq!(mime_type(b"RIFF\x01\x02\x03\x04WAVE"), None);
        assert_eq!(mime_type(b""), None);
    }
}
