//! The data of an image: long base64 text that haft passes on unchanged.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytestring::ByteString;
use serde::de::Visitor;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::reader::{self, STRING};
use crate::scan::plain_end;
use crate::shared_line;

/// The base64 text of an image. Clones share it; data that was read from a long line keeps that
/// line in memory.
#[derive(Clone)]
pub struct ImageData(ImageDataRepr);

#[derive(Clone)]
enum ImageDataRepr {
    /// A JSON string without escapes, with its quotes. It is written again without a scan.
    Json(ByteString),
    Text(Arc<str>),
}

impl ImageData {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            ImageDataRepr::Json(json) => between_quotes(json).unwrap_or_default(),
            ImageDataRepr::Text(text) => text,
        }
    }
}

fn between_quotes(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"')
}

impl From<&str> for ImageData {
    fn from(text: &str) -> Self {
        if plain_end(text.as_bytes(), 0) < text.len() {
            return Self(ImageDataRepr::Text(text.into()));
        }
        let mut json = String::with_capacity(text.len() + 2);
        json.extend(["\"", text, "\""]);
        Self(ImageDataRepr::Json(json.into()))
    }
}

impl From<String> for ImageData {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Deref for ImageData {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for ImageData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq for ImageData {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ImageData {}

impl Serialize for ImageData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            ImageDataRepr::Json(json) => {
                reader::raw_value(json).map_err(S::Error::custom)?.serialize(serializer)
            }
            ImageDataRepr::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for ImageData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(STRING, ImageDataVisitor)
    }
}

struct ImageDataVisitor;

impl<'de> Visitor<'de> for ImageDataVisitor {
    type Value = ImageData;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    /// Called by a reader of lines with a string without escapes, including its quotes.
    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<ImageData, E> {
        Ok(match between_quotes(text) {
            Some(_) => ImageData(ImageDataRepr::Json(shared_line::share_or_copy(text))),
            None => text.into(),
        })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ImageData, E> {
        Ok(text.into())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<ImageData, D::Error> {
        String::deserialize(deserializer).map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::codec::{self, DecodeOutcome, DecodedFrame, LineLimits};
    use crate::content::Image;
    use crate::ext::{ExtensionFrame, ResultBlock};

    fn line(data: &str) -> String {
        format!(
            r#"{{"type":"tool_result","id":"1","content":[{{"type":"image","mime_type":"image/png","data":{data}}}]}}"#
        )
    }

    /// Reads the image of a result from this line.
    #[track_caller]
    fn image(line: &Bytes) -> Image {
        let read = codec::read_shared::<ExtensionFrame>(line, LineLimits::default()).unwrap();
        let DecodeOutcome { frame: DecodedFrame::Known(ExtensionFrame::ToolResult(result)), .. } = read
        else {
            panic!("{read:?}")
        };
        let [ResultBlock::Image(image)] = result.content.as_slice() else { panic!("{result:?}") };
        image.clone()
    }

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let image = image(&line(json).into());
        assert_eq!(&*image.data, expect);
        let made = Image { data: expect.into(), ..image.clone() };
        let again = serde_json::to_string(&made).unwrap();
        assert_eq!(serde_json::to_string(&image).unwrap(), again);
        assert_eq!(serde_json::from_str::<Image>(&again).unwrap(), image);
        assert_eq!(serde_json::from_value::<Image>(serde_json::to_value(&image).unwrap()).unwrap(), made);
    }

    #[test]
    fn image_data_is_passed_on_unchanged() {
        check(r#""iVBORw0KGgo=""#, "iVBORw0KGgo=");
        check(r#""""#, "");
        check(r#""\"""#, "\"");
        check(r#""\"a\"""#, "\"a\"");
        check(r#""a\/\n\u0041""#, "a/\nA");
        check("\"\u{e9}\u{2028}\"", "\u{e9}\u{2028}");
        let long = "A".repeat(1 << 17);
        check(&format!("\"{long}\""), &long);
    }

    #[test]
    fn long_data_is_not_copied() {
        let line = Bytes::from(line(&format!("\"{}\"", "A".repeat(1 << 17))));
        let data = image(&line).data;
        assert!(line.as_ptr_range().contains(&data.as_ptr()));
        assert!(!line.is_unique());
        drop(data);
        assert!(line.is_unique(), "nothing else keeps the line");
    }
}
