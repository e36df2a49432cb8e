//! Values as raw text.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

use super::{CheckedJson, JsonForm};
use crate::scan::PlainSpan;

/// The text of a value: borrowed if it is read from a line, otherwise a copy.
#[derive(Debug)]
pub(crate) struct JsonText<'de> {
    text: Cow<'de, str>,
    compact: bool,
}

impl JsonText<'_> {
    pub(crate) fn get(&self) -> CheckedJson<'_> {
        let form = if self.compact { JsonForm::Compact } else { JsonForm::Any };
        CheckedJson { text: &self.text, form, longest: PlainSpan::default() }
    }
}

/// The name of a newtype by which a [`JsonReader`](super::JsonReader) recognizes [`JsonText`]. The
/// reader passes compact text as a string. For any other reader it is an ordinary newtype.
pub(super) const TEXT: &str = "haft_protocol::Text";

impl<'de> Deserialize<'de> for JsonText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = JsonText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonText<'de>, E> {
                Ok(JsonText { text: Cow::Borrowed(text), compact: true })
            }

            /// Called by a reader of a line that is not compact.
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonText<'de>, D::Error> {
                let raw = <&RawValue>::deserialize(deserializer)?;
                Ok(JsonText { text: Cow::Borrowed(raw.get()), compact: false })
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<JsonText<'de>, D::Error> {
                let raw = Box::<RawValue>::deserialize(deserializer)?;
                Ok(JsonText { text: Cow::Owned(Box::<str>::from(raw).into_string()), compact: false })
            }
        }

        deserializer.deserialize_newtype_struct(TEXT, TextVisitor)
    }
}

/// Creates serde_json's wrapper of checked JSON without another check.
///
/// # Errors
/// None, as long as serde_json reads its wrapper in the present way.
pub(crate) fn raw_value(text: &str) -> Result<&RawValue, Error> {
    <&RawValue>::deserialize(RawValueDeserializer(text))
}

/// True if serde_json's wrapper asks for text by this name.
pub(super) fn is_raw_value(name: &str) -> bool {
    name.starts_with("$serde_json::")
}

/// Deserializes a text in the form that serde_json's wrapper reads: an object with the one key that
/// it asked for.
pub(super) struct RawValueDeserializer<'de>(pub(super) &'de str);

impl<'de> Deserializer<'de> for RawValueDeserializer<'de> {
    type Error = Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(MapDeserializer::new(std::iter::once((name, BorrowedString(self.0)))))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only a raw value is read from here"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A string that is borrowed from the line.
struct BorrowedString<'de>(&'de str);

impl<'de> IntoDeserializer<'de, Error> for BorrowedString<'de> {
    type Deserializer = BorrowedStrDeserializer<'de, Error>;

    fn into_deserializer(self) -> Self::Deserializer {
        BorrowedStrDeserializer::new(self.0)
    }
}
