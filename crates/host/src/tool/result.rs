//! From the blocks of a `tool_result` to what a model can be shown. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::tool::ToolOutput;
use haft_core::truncate::{self, Limits};
use haft_protocol::content::{Content, Image};
use haft_protocol::ext::{ResultBlock, ToolResult};
use haft_protocol::ids::ExtensionName;

/// The largest image, in bytes once decoded.
const MAX_IMAGE: usize = 5 * 1024 * 1024;

/// The most images in one result.
const MAX_IMAGES: usize = 8;

/// Image kinds that models read.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What the model is shown, and what was rejected of the result, if anything was.
pub(super) fn output(
    extension: &ExtensionName,
    tool: &str,
    result: ToolResult,
) -> (ToolOutput, Option<String>) {
    let mut mapped = Mapped::default();
    for block in result.content {
        match block {
            ResultBlock::Text { text } => mapped.text(&text),
            ResultBlock::Image(image) => mapped.image(extension, tool, image),
            ResultBlock::Unknown { kind } => {
                let kind: String = kind.chars().take(40).collect();
                mapped.text(&format!("[unknown block type {kind:?} from extension {extension}]"));
            }
        }
    }
    if mapped.content.is_empty() {
        mapped.text("(extension returned no content)");
    }
    let is_error = result.is_error || mapped.rejected.is_some();
    (ToolOutput { content: mapped.content, is_error }, mapped.rejected)
}

/// What was kept so far. The limits hold for all texts of a result together.
#[derive(Default)]
struct Mapped {
    content: Vec<Content>,
    bytes: usize,
    lines: usize,
    cut: bool,
    images: usize,
    rejected: Option<String>,
}

impl Mapped {
    fn text(&mut self, text: &str) {
        if text.is_empty() || self.cut {
            return;
        }
        let all = Limits::default();
        let room = Limits {
            bytes: all.bytes.saturating_sub(self.bytes),
            lines: all.lines.saturating_sub(self.lines),
        };
        let kept = truncate::head(text, room);
        self.bytes += kept.text.len();
        self.lines += kept.kept_lines;
        if kept.is_whole() {
            self.content.push(Content::text(text));
            return;
        }
        self.cut = true;
        let note = format!(
            "[truncated: {} bytes left out; a result may have {} bytes and {} lines]",
            kept.omitted_bytes, all.bytes, all.lines
        );
        let separator = if kept.text.is_empty() || kept.text.ends_with('\n') { "" } else { "\n" };
        self.content.push(Content::text(format!("{}{separator}{note}", kept.text)));
    }

    fn image(&mut self, extension: &ExtensionName, tool: &str, image: Image) {
        self.images += 1;
        let checked = if self.images > MAX_IMAGES {
            Err(format!("more than {MAX_IMAGES} images"))
        } else {
            check(&image)
        };
        match checked {
            Ok(()) => self.content.push(Content::Image(image)),
            Err(detail) => {
                self.text(&format!(
                    "extension {extension}/{tool} returned an image that cannot be used: {detail}"
                ));
                self.rejected.get_or_insert(detail);
            }
        }
    }
}

/// Looks at an image without decoding its pixels: its kind by name, its size by the length of its text.
fn check(image: &Image) -> Result<(), String> {
    if !IMAGE_TYPES.contains(&image.mime_type.as_str()) {
        let kind: String = image.mime_type.chars().take(40).collect();
        return Err(format!("{kind:?} is not one of {}", IMAGE_TYPES.join(", ")));
    }
    if image.data.is_empty() {
        return Err("it has no data".to_owned());
    }
    if base64::decoded_len_estimate(image.data.len()) > MAX_IMAGE + 2 {
        return Err(format!("it is larger than {MAX_IMAGE} bytes"));
    }
    match STANDARD.decode(&image.data) {
        Ok(bytes) if bytes.len() > MAX_IMAGE => Err(format!("it is larger than {MAX_IMAGE} bytes")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("not standard base64: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expect: &[&str], expect_error: bool) {
        let result = serde_json::from_str(&format!(r#"{{"id":"1","content":{content}}}"#)).unwrap();
        let (output, rejected) = output(&ExtensionName::new("E"), "T", result);
        let shown: Vec<String> = output.content.iter().map(shown).collect();
        assert_eq!(shown, expect);
        assert_eq!((output.is_error, rejected.is_some()), (expect_error, expect_error));
    }

    fn shown(content: &Content) -> String {
        match content {
            Content::Text { text } => text.clone(),
            Content::Image(image) => format!("<{}>", image.mime_type),
        }
    }

    #[test]
    fn blocks_become_what_a_model_can_read() {
        check(r#"[{"type":"text","text":"Berlin"},{"type":"text","text":""}]"#, &["Berlin"], false);
        check(r#"[{"type":"video"}]"#, &[r#"[unknown block type "video" from extension E]"#], false);
        check("[]", &["(extension returned no content)"], false);
        check("null", &["(extension returned no content)"], false);
        check(r#"[{"type":"image","mime_type":"image/png","data":"iVBORw=="}]"#, &["<image/png>"], false);
    }

    #[test]
    fn images_that_cannot_be_used_are_errors_that_say_why() {
        let unusable = "extension E/T returned an image that cannot be used: ";
        let image =
            |kind: &str, data: &str| format!(r#"[{{"type":"image","mime_type":"{kind}","data":"{data}"}}]"#);
        let svg = r#""image/svg+xml" is not one of image/png, image/jpeg, image/gif, image/webp"#;
        check(&image("image/svg+xml", "AAAA"), &[&format!("{unusable}{svg}")], true);
        let url_safe = "not standard base64: Invalid symbol 45, offset 0.";
        check(&image("image/png", "-_-_"), &[&format!("{unusable}{url_safe}")], true);
        check(&image("image/png", ""), &[&format!("{unusable}it has no data")], true);
        let fits = STANDARD.encode(vec![0; MAX_IMAGE]);
        check(&image("image/png", &fits), &["<image/png>"], false);
        let large = STANDARD.encode(vec![0; MAX_IMAGE + 1]);
        check(&image("image/png", &large), &[&format!("{unusable}it is larger than 5242880 bytes")], true);
    }

    #[test]
    fn long_texts_are_cut_with_a_note_and_nothing_follows() {
        let text = format!(
            r#"[{{"type":"text","text":"{}"}},{{"type":"text","text":"more"}}]"#,
            "line\\n".repeat(3000)
        );
        let result = serde_json::from_str(&format!(r#"{{"id":"1","content":{text}}}"#)).unwrap();
        let (output, _) = output(&ExtensionName::new("E"), "T", result);
        assert_eq!(output.content.len(), 1);
        let text = output.content[0].as_text().unwrap();
        assert_eq!(text.lines().count(), 2001);
        assert!(text.ends_with("a result may have 51200 bytes and 2000 lines]"), "{text}");
    }
}
