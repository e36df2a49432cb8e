//! Writes JSON text from borrowed values, and reads texts without a copy.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::Serialize;
use serde_json::value::RawValue;

/// Appends a value as JSON text.
pub(super) fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("texts, numbers and lists of them are always valid JSON");
}

/// Appends an element of a list, with the comma behind it.
pub(super) fn write_element(out: &mut Vec<u8>, value: &impl Serialize) {
    write(out, value);
    out.push(b',');
}

/// Appends an object without its last bracket, so that more fields can follow.
pub(super) fn write_open_object(out: &mut Vec<u8>, value: &impl Serialize) {
    write(out, value);
    debug_assert_eq!(out.last(), Some(&b'}'), "an object");
    out.pop();
}

/// A text in an event, borrowed from it unless it has escapes. (An `Option<Cow<str>>` is always copied.)
#[derive(Debug)]
pub(super) struct JsonText<'a>(Cow<'a, str>);

impl<'a> JsonText<'a> {
    pub(super) fn from_borrowed(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }

    pub(super) fn into_cow(self) -> Cow<'a, str> {
        self.0
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(TextVisitor).map(Self)
    }
}

/// Returns the arguments of a call as JSON text. Some servers send that text in a string.
pub(super) fn arguments_text(args: &RawValue) -> Cow<'_, str> {
    match serde_json::from_str::<JsonText<'_>>(args.get()) {
        Ok(JsonText(text)) => text,
        Err(_) if args.get() == "null" => Cow::Borrowed(""),
        Err(_) => Cow::Borrowed(args.get()),
    }
}
