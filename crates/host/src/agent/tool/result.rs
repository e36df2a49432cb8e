//! Converts the blocks of a `tool_result` to model input. Pure.

use std::borrow::Cow;
use std::path::Path;

use haft_core::image;
use haft_core::sanitize::strip_hidden_chars;
use haft_core::tool::ToolOutput;
use haft_core::truncate;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, joined_text};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{Limits, ResultBlock, ToolResultFrame};
use haft_protocol::ids::ExtensionName;

use crate::session::overlong_details;

/// The bytes that a changed result may have beyond the original result, for example for redaction marks.
const MARK_BYTES: usize = 16 * 1024;

const EXTRA_LINES: usize = 500;

/// Returns the limits of a result that a hook changed. A result may come back with a changed word, whatever
/// length haft's own tools allow.
pub(crate) fn limits_of_changed_result(limits: Limits, own: &ToolOutput) -> Limits {
    let text = joined_text(&own.content);
    let images = own.content.iter().filter(|block| block.as_text().is_none()).count();
    Limits {
        max_result_text: limits.max_result_text.max(text.len() + MARK_BYTES),
        max_result_lines: limits.max_result_lines.max(text.lines().count() + EXTRA_LINES),
        max_images: limits.max_images.max(images),
        ..limits
    }
}

/// The parts of a result that have been read. The limits apply to the sum of all texts.
#[derive(Debug, Default)]
pub(crate) struct SanitizedToolResult {
    limits: Limits,
    content: Vec<ContentBlock>,
    is_error: bool,
    details: Option<RawJson>,
    terminate: bool,
    bytes: usize,
    lines: usize,
    /// All texts, including the truncated ones.
    texts: Vec<String>,
    /// Bytes of text that are not in `content`.
    omitted: usize,
    images: usize,
    pub(crate) rejected: Option<String>,
    /// The reason why the details were dropped.
    pub(crate) dropped_details: Option<String>,
    /// The number of removed invisible characters.
    pub(crate) hidden: usize,
}

impl SanitizedToolResult {
    pub(crate) fn new(
        extension: &ExtensionName,
        tool: &str,
        result: ToolResultFrame,
        limits: Limits,
    ) -> Self {
        let ToolResultFrame { is_error, terminate, details, .. } = result;
        let mut read = Self { limits, is_error, terminate, ..Self::default() };
        read.set_details(details);
        for block in result.content {
            match block {
                ResultBlock::Text { text } => read.add_text(text),
                ResultBlock::Image(image) => read.add_image(extension, tool, image),
                ResultBlock::Unknown { kind } => {
                    let kind: String = kind.chars().take(40).collect();
                    read.add_text(format!("[unknown block type {kind:?} from extension {extension}]"));
                }
            }
        }
        read
    }

    /// Returns all texts of a result that is too long for a model.
    pub(crate) fn full_text(&self) -> Option<&[String]> {
        (self.omitted > 0).then_some(&self.texts)
    }

    /// Returns the output for the model; `kept` is the file with the full text.
    pub(crate) fn into_output(mut self, kept: Option<&Path>) -> ToolOutput {
        if self.content.is_empty() && self.omitted == 0 {
            self.content.push(ContentBlock::text("(extension returned no content)"));
        }
        if self.omitted > 0 {
            let Limits { max_result_text: bytes, max_result_lines: lines, .. } = self.limits;
            let whole = match kept {
                Some(path) => format!("complete output: {}", path.display()),
                None => "the full text could not be saved".to_owned(),
            };
            self.add_note(format!(
                "[truncated: {} bytes omitted; the limit is {bytes} bytes and {lines} lines; {whole}]",
                self.omitted
            ));
        }
        if self.hidden > 0 {
            self.add_note(format!("[removed {} invisible characters]", self.hidden));
        }
        let is_error = self.is_error || self.rejected.is_some();
        ToolOutput::new(self.content)
            .with_is_error(is_error)
            .with_details(self.details)
            .with_terminate(self.terminate)
    }

    /// Keeps the details if they are not too long. Without them the result is still usable.
    fn set_details(&mut self, details: Option<RawJson>) {
        self.dropped_details = overlong_details(details.as_ref(), self.limits.max_line);
        self.details = details.filter(|_| self.dropped_details.is_none());
    }

    fn add_text(&mut self, text: String) {
        let read = strip_hidden_chars(&text);
        self.hidden += read.hidden;
        let text = match read.text {
            Cow::Borrowed(_) => text,
            Cow::Owned(text) => text,
        };
        let room = truncate::TruncationLimits {
            bytes: self.limits.max_result_text.saturating_sub(self.bytes),
            lines: self.limits.max_result_lines.saturating_sub(self.lines),
        };
        let endless = truncate::TruncationLimits { bytes: usize::MAX, lines: usize::MAX };
        let room = if is_up(Defense::ResultLimits) { room } else { endless };
        // No text follows a gap: it would look as if it belonged to the text before the gap.
        let room = if self.omitted > 0 { truncate::TruncationLimits { bytes: 0, lines: 0 } } else { room };
        let kept = truncate::head(&text, room);
        self.bytes += kept.text.len();
        self.lines += kept.kept_lines;
        self.omitted += kept.omitted_bytes;
        if !kept.text.is_empty() {
            self.content.push(ContentBlock::text(kept.text));
        }
        self.texts.push(text);
    }

    fn add_image(&mut self, extension: &ExtensionName, tool: &str, image: Image) {
        self.images += 1;
        let max_images = self.limits.max_images;
        let checked = match self.images {
            _ if !is_up(Defense::ImageCheck) => Ok(()),
            images if images <= max_images => check_image(&image, self.limits.max_image),
            // Reported once: there may be thousands.
            images if images > max_images + 1 => return,
            _ => Err(format!("more than {max_images} images")),
        };
        match checked {
            Ok(()) => self.content.push(ContentBlock::Image(image)),
            Err(detail) => {
                self.add_note(format!(
                    "extension {extension}/{tool} returned an image that cannot be used: {detail}"
                ));
                self.rejected.get_or_insert(detail);
            }
        }
    }

    fn add_note(&mut self, note: String) {
        match self.content.last_mut() {
            Some(ContentBlock::Text { text }) => {
                let separator = if text.ends_with('\n') { "" } else { "\n" };
                text.push_str(&format!("{separator}{note}"));
            }
            Some(ContentBlock::Image(_)) | None => self.content.push(ContentBlock::text(note)),
        }
    }
}

/// Checks an image without decoding its pixels.
fn check_image(image: &Image, longest: usize) -> Result<(), String> {
    let declared = image.mime_type.as_str();
    if !IMAGE_TYPES.contains(&declared) {
        let kind: String = declared.chars().take(40).collect();
        return Err(format!("{kind:?} is not one of {}", IMAGE_TYPES.join(", ")));
    }
    match image::check_base64(&image.data, longest).map_err(|error| error.to_string())? {
        kind if kind == declared => Ok(()),
        kind => Err(format!("the declared type is {declared}, but the data is {kind}")),
    }
}

const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn read(content: &str) -> SanitizedToolResult {
        let result = serde_json::from_str(&format!(r#"{{"id":"1","content":{content}}}"#)).unwrap();
        SanitizedToolResult::new(&ExtensionName::new("E"), "T", result, Limits::default())
    }

    #[track_caller]
    fn check(content: &str, expect: &[&str], expect_error: bool) {
        let read = read(content);
        let rejected = read.rejected.is_some();
        assert_eq!(read.full_text(), None);
        let output = read.into_output(None);
        let shown: Vec<String> = output.content.iter().map(shown).collect();
        assert_eq!(shown, expect);
        assert_eq!((output.is_error, rejected), (expect_error, expect_error));
    }

    fn shown(content: &ContentBlock) -> String {
        match content {
            ContentBlock::Text { text } => text.clone(),
            ContentBlock::Image(image) => format!("<{}>", image.mime_type),
        }
    }

    #[test]
    fn converts_blocks_for_model() {
        check(r#"[{"type":"text","text":"Berlin"},{"type":"text","text":""}]"#, &["Berlin"], false);
        check(r#"[{"type":"video"}]"#, &[r#"[unknown block type "video" from extension E]"#], false);
        check("[]", &["(extension returned no content)"], false);
        check("null", &["(extension returned no content)"], false);
        let text = r#"[{"type":"text","text":""}]"#;
        check(text, &["(extension returned no content)"], false);
        check(&image("image/png", &png(PNG)), &["<image/png>"], false);
    }

    /// The first bytes of a PNG of one pixel.
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";

    fn png(bytes: &[u8]) -> String {
        STANDARD.encode(bytes)
    }

    fn image(kind: &str, data: &str) -> String {
        format!(r#"[{{"type":"image","mime_type":"{kind}","data":"{data}"}}]"#)
    }

    #[track_caller]
    fn unusable(kind: &str, data: &str, why: &str) {
        let text = format!("extension E/T returned an image that cannot be used: {why}");
        check(&image(kind, data), &[&text], true);
    }

    #[test]
    fn explains_unusable_images() {
        let svg = STANDARD.encode("<svg><script>alert(1)</script></svg>");
        let kinds = "is not one of image/png, image/jpeg, image/gif, image/webp";
        unusable("image/svg+xml", &svg, &format!("\"image/svg+xml\" {kinds}"));
        unusable("image/png\\u001b[31m", &svg, &format!("\"image/png\\u{{1b}}[31m\" {kinds}"));
        unusable("image/png", &svg, "not a PNG, JPEG, GIF or WebP image");
        unusable("image/jpeg", &png(PNG), "the declared type is image/jpeg, but the data is image/png");
        unusable("image/png", "-_-_", "the image is not valid base64: Invalid symbol 45, offset 0.");
        unusable("image/png", "", "the image has no data");
        unusable("image/png", &png(&PNG[..12]), "the image header is damaged");
        let bomb = [&PNG[..16], &65_535_u32.to_be_bytes(), &65_535_u32.to_be_bytes(), &PNG[24..]].concat();
        unusable("image/png", &png(&bomb), "the image is too large: 65535 by 65535 pixels");
        let mut large = PNG.to_vec();
        large.resize(image::MAX_BYTES, 0);
        check(&image("image/png", &png(&large)), &["<image/png>"], false);
        large.push(0);
        unusable("image/png", &png(&large), "the image is larger than 5242880 bytes");
    }

    #[test]
    fn finds_image_size_after_long_comment() {
        let mut jpeg = b"\xff\xd8".to_vec();
        jpeg.extend(b"\xff\xe1\xf0\x00");
        jpeg.resize(jpeg.len() + 0xf000 - 2, 0);
        jpeg.extend(b"\xff\xc0\0\x11\x08\x01\xe0\x02\x80\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xd9");
        check(&image("image/jpeg", &STANDARD.encode(&jpeg)), &["<image/jpeg>"], false);
        jpeg.truncate(0xf000);
        unusable("image/jpeg", &STANDARD.encode(&jpeg), "the image header is damaged");
    }

    #[test]
    fn limits_number_of_images() {
        let images = |count: usize| {
            let one = format!(r#"{{"type":"image","mime_type":"image/png","data":"{}"}}"#, png(PNG));
            format!("[{}]", vec![one; count].join(","))
        };
        check(&images(8), &["<image/png>"; 8], false);
        let mut expect = vec!["<image/png>"; 8];
        expect.push("extension E/T returned an image that cannot be used: more than 8 images");
        check(&images(9), &expect, true);
        check(&images(1_000), &expect, true);
    }

    #[test]
    fn truncates_long_text_and_drops_the_rest() {
        let line = "line\\n".repeat(3000);
        let read = read(&format!(r#"[{{"type":"text","text":"{line}"}},{{"type":"text","text":"more"}}]"#));
        let whole = read.full_text().unwrap().join("\n");
        assert_eq!(whole, format!("{}\nmore", "line\n".repeat(3000)));
        let output = read.into_output(Some(Path::new("/tmp/whole.txt")));
        assert_eq!(output.content.len(), 1);
        let text = output.content[0].as_text().unwrap();
        assert_eq!(text.lines().count(), 2001);
        let note = "[truncated: 5004 bytes omitted; the limit is 51200 bytes and 2000 lines; complete output: \
            /tmp/whole.txt]";
        assert!(text.ends_with(note), "{text}");
    }

    #[test]
    fn limits_sum_of_all_texts() {
        let pieces = |count: usize| {
            let one = r#"{"type":"text","text":"x"}"#;
            read(&format!("[{}]", vec![one; count].join(",")))
        };
        assert_eq!(pieces(2_000).full_text(), None, "each piece is a line");
        let oversized = pieces(2_001);
        assert_eq!(oversized.full_text().map(|whole| whole.join("\n").len()), Some(4_001));
        let output = oversized.into_output(None);
        assert_eq!(output.content.len(), 2_000);
        let last = output.content[1_999].as_text().unwrap();
        assert!(last.ends_with("lines; the full text could not be saved]"), "{last}");
    }

    #[test]
    fn removes_and_counts_invisible_characters() {
        let read =
            read(r#"[{"type":"text","text":"fog\udb40\udc41"},{"type":"text","text":"\udb40\udc42!"}]"#);
        assert_eq!((read.hidden, read.rejected.as_deref()), (2, None));
        let output = read.into_output(None);
        let texts: Vec<String> = output.content.iter().map(shown).collect();
        assert_eq!(texts, ["fog", "!\n[removed 2 invisible characters]"]);
        assert!(!output.is_error);
    }
}
