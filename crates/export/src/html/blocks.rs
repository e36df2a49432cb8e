//! Parts shared by messages and tools: contents, images, diffs, arguments.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::image;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::text::html_text;

/// The maximum length of a value shown beside its name, in bytes; longer ones are shown below.
const SHORT: usize = 100;

pub(super) fn write_content_blocks(out: &mut String, content: &[ContentBlock]) {
    for block in content {
        match block {
            ContentBlock::Text { text } if text.trim().is_empty() => {}
            ContentBlock::Text { text } => write_pre(out, "", text),
            ContentBlock::Image(image) => write_image(out, image),
        }
    }
}

pub(super) fn write_pre(out: &mut String, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = write!(out, "<pre{class} tabindex=\"0\">{}</pre>", html_text(text.trim_end_matches('\n')));
}

/// Writes an image if its bytes are of a type that cannot contain scripts.
pub(super) fn write_image(out: &mut String, image: &Image) {
    let bytes = STANDARD.decode(image.data.as_bytes()).map_err(|error| error.to_string());
    let kind = bytes.and_then(|bytes| image::check(&bytes).map_err(|error| error.to_string()));
    let _ = match kind {
        // The successfully decoded text consists only of base64 characters.
        Ok(kind) => write!(
            out,
            "<p class=\"picture\"><img alt=\"image\" src=\"data:{kind};base64,{}\"></p>",
            image.data.as_str()
        ),
        Err(why) => write!(
            out,
            "<p class=\"left-out\">An image of type {} was left out: {}</p>",
            html_text(&image.mime_type),
            html_text(&why)
        ),
    };
}

pub(super) fn write_diff(out: &mut String, unified: &str) {
    out.push_str("<pre class=\"diff\" tabindex=\"0\">");
    let mut inside = false;
    for line in unified.lines() {
        let class = match line.as_bytes().first() {
            Some(b'@') => {
                inside = true;
                "at"
            }
            // Header lines with the names of the files.
            Some(b'-' | b'+') if !inside && (line.starts_with("--- ") || line.starts_with("+++ ")) => "file",
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(_) | None => "same",
        };
        // The line break is inside the element, so that copied text contains it.
        let _ = write!(out, "<span class=\"{class}\">{}\n</span>", html_text(line));
    }
    out.push_str("</pre>");
}

pub(super) fn write_arguments(out: &mut String, args: &RawJson) {
    let Ok(OrderedFields(fields)) = args.read::<OrderedFields>() else {
        return write_pre(out, "", args.as_str());
    };
    out.push_str("<dl class=\"args\">");
    for (name, value) in fields {
        let text = value.read::<String>().unwrap_or_else(|_| value.as_str().to_owned());
        let _ = write!(out, "<dt>{}</dt><dd>", html_text(&name));
        match text.contains('\n') || text.len() > SHORT {
            true => write_pre(out, "", &text),
            false => _ = write!(out, "<code>{}</code>", html_text(&text)),
        }
        out.push_str("</dd>");
    }
    out.push_str("</dl>");
}

/// The fields of an object in their original order, with unchanged values.
struct OrderedFields(Vec<(String, RawJson)>);

impl<'de> Deserialize<'de> for OrderedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedFieldsVisitor;
        impl<'de> Visitor<'de> for OrderedFieldsVisitor {
            type Value = OrderedFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedFields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(OrderedFields(fields))
            }
        }
        deserializer.deserialize_map(OrderedFieldsVisitor)
    }
}
