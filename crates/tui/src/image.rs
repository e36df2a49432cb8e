//! Images: what stands in their place where none can be shown, and where they shall be where they can.
//!
//! A view lays an image out as so many columns and rows, with words for it in the first row, and [marks](Placement::mark)
//! the cells. Whoever draws the frame then shows the image if all of its marks are still there and it is decoded, and else
//! the words. So whatever is drawn over an image covers it, and needs to know nothing of images.

mod placed;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_protocol::content::Image;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::theme::{Role, Theme};

pub use placed::{CellSize, Images, Placement};
pub(crate) use placed::{MOST_BYTES, MOST_PIXELS, forget_cell, within};

/// How much of an image's text is looked at for its size in pixels: headers are at the beginning.
const HEADER: usize = 256 * 1024;

/// The longest kind that is shown, in columns.
const MAX_KIND: usize = 24;

/// What can be said of an image without decoding a pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFacts {
    /// `PNG`.
    pub kind: CleanLine,
    /// Its size in bytes.
    pub bytes: u64,
    /// Across and down, where the header says it.
    pub pixels: Option<(usize, usize)>,
}

impl ImageFacts {
    /// Of one that is there.
    pub fn of(image: &Image) -> Self {
        let text = image.data.as_bytes();
        let padding = text.iter().rev().take(2).filter(|byte| **byte == b'=').count();
        let bytes = (text.len() / 4 * 3).saturating_sub(padding);
        let whole = text.len().min(HEADER) / 4 * 4;
        let start = text.get(..whole).and_then(|start| STANDARD.decode(start).ok());
        let size = start.and_then(|start| imagesize::blob_size(&start).ok());
        let pixels = size.map(|size| (size.width, size.height)).filter(|size| *size != (0, 0));
        Self { pixels, ..Self::named(&image.mime_type, u64::try_from(bytes).unwrap_or(u64::MAX)) }
    }

    /// Of one of which only that is known.
    pub fn named(mime_type: &str, bytes: u64) -> Self {
        let kind = mime_type.strip_prefix("image/").unwrap_or(mime_type).to_uppercase();
        let kind = if kind.is_empty() { "image".into() } else { CleanLine::new(&kind).shortened(MAX_KIND) };
        Self { kind, bytes, pixels: None }
    }

    /// `[PNG, 640×480, 12.3 KiB]`
    pub fn line(&self, theme: &Theme) -> Line<'static> {
        let text = CleanLine::new(&format!("[{}]", self.words()));
        Line::from(span(text, theme.style(Role::Muted)))
    }

    /// `PNG, 640×480, 12.3 KiB`
    pub fn words(&self) -> CleanLine {
        let pixels = self.pixels.map(|(across, down)| format!(", {across}×{down}")).unwrap_or_default();
        CleanLine::new(&format!("{}{pixels}, {}", self.kind, size(self.bytes)))
    }
}

fn size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = u128::from(bytes) * 10 / u128::from(unit);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        1 => "1 byte".to_owned(),
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", tenths(1024)),
        1_048_576.. => format!("{} MiB", tenths(1024 * 1024)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mime_type: &str, bytes: &[u8], expect: &str) {
        let image = Image { mime_type: mime_type.to_owned(), data: STANDARD.encode(bytes).into() };
        assert_eq!(ImageFacts::of(&image).line(&Theme::dark()).to_string(), expect);
    }

    #[test]
    fn an_image_says_what_it_is() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x02\0\0\0....".to_vec();
        check("image/png", &png, "[PNG, 640×480, 33 bytes]");
        png.resize(12_600, 0);
        check("image/png", &png, "[PNG, 640×480, 12.3 KiB]");
        png.resize(3 * 1024 * 1024, 0);
        check("image/png", &png, "[PNG, 640×480, 3.0 MiB]");
        check("image/jpeg", b"\xff\xd8\xff", "[JPEG, 3 bytes]");
        check("", b"", "[image, 0 bytes]");
        check("image/\x1b[2Jx\n", b"abcd", "[X , 4 bytes]");
    }

    #[test]
    fn what_is_no_base64_has_no_pixels() {
        let image = Image { mime_type: "image/gif".to_owned(), data: "????".into() };
        assert_eq!(ImageFacts::of(&image).pixels, None);
        assert_eq!(
            ImageFacts::named("image/webp", u64::MAX).line(&Theme::dark()).to_string().chars().next(),
            Some('[')
        );
    }
}
