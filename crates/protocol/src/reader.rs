//! Reads typed values from well-formed JSON without a second look at every byte.
//!
//! [`scan`](crate::scan) checks a line as a whole before it is read. The reader therefore skips
//! unused values, searches a string only for its end, and copies the text of arguments. serde_json
//! reads what is rare on the wire (numbers, enums).
//!
//! An error of this reader has no details: [`read`](crate::read) then asks serde_json, whose error
//! describes the mistake.

mod entries;
mod raw;

use std::borrow::Cow;

use serde::de::{Deserializer, Error as _, Visitor};
use serde_json::Error;

use crate::compact::has_line_ends;
use crate::scan::{PlainSpan, plain_end, unescape};
use entries::{ArrayItems, ObjectEntries};

pub(crate) use raw::{JsonText, raw_value};

/// The name of a newtype by which a [`JsonReader`] recognizes a type that reads its object in one
/// pass if its tag comes first. The reader passes the object to it. For any other reader it is an
/// ordinary newtype.
pub(crate) const OBJECT: &str = "haft_protocol::Object";

/// The name of a newtype by which a [`JsonReader`] recognizes a type that keeps a string as it is
/// written. The reader passes a string without escapes with its quotes, and any other string as
/// owned text. For any other reader it is an ordinary newtype.
pub(crate) const STRING: &str = "haft_protocol::String";

/// Well-formed JSON: from a checked line, or from a parser that checked it.
#[derive(Debug, Clone, Copy)]
pub struct CheckedJson<'a> {
    pub(crate) text: &'a str,
    /// The known form of the text.
    pub(crate) form: JsonForm,
    /// The longest known plain span of the text.
    pub(crate) longest: PlainSpan,
}

/// True if a [`JsonReader`] treats a newtype of this name specially.
pub fn keeps_text(name: &str) -> bool {
    matches!(name, raw::TEXT | OBJECT | STRING) || raw::is_raw_value(name)
}

/// The known form of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonForm {
    Any,
    Tight,
    /// The output of [`compact`](crate::compact::compact): tight, and without characters that end a
    /// line.
    Compact,
}

/// Reads one value. Never panics; for a text that is not well-formed the result is meaningless.
#[derive(Debug)]
pub struct JsonReader<'de> {
    text: &'de str,
    at: usize,
    form: JsonForm,
    longest: PlainSpan,
    /// The number of levels that may still be opened.
    levels: u8,
}

/// The maximum nesting, the same as in serde_json.
const LEVELS: u8 = 127;

impl<'de> JsonReader<'de> {
    /// Creates a reader of well-formed text.
    pub fn from_checked_text(text: &'de str) -> Self {
        Self::new(CheckedJson { text, form: JsonForm::Any, longest: PlainSpan::default() })
    }

    pub(crate) fn new(CheckedJson { text, form, longest }: CheckedJson<'de>) -> Self {
        Self { text, at: 0, form, longest, levels: LEVELS }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the next byte that is not white space.
    fn peek_token(&mut self) -> Option<u8> {
        while self.form == JsonForm::Any && matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.peek()
    }

    /// Returns the text from `from` to the current position.
    fn text_since(&self, from: usize) -> Result<&'de str, Error> {
        self.text.get(from..self.at).ok_or_else(malformed_error)
    }

    /// Skips the next value and returns its text.
    fn skip(&mut self) -> Result<&'de str, Error> {
        let first = self.peek_token();
        let from = self.at;
        match first {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_nested(),
            _ => {
                let rest = self.text.as_bytes().get(from..).unwrap_or_default();
                let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
            }
        }
        self.text_since(from)
    }

    fn skip_string(&mut self) {
        self.at += 1;
        self.skip_to_quote();
        self.at += 1;
    }

    /// Moves to the quote that ends the current string.
    fn skip_to_quote(&mut self) {
        loop {
            self.at = self.plain_end(self.at);
            match self.peek() {
                Some(b'\\') => self.at += 2,
                Some(_) | None => return,
            }
        }
    }

    fn skip_nested(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }

    /// Finds the end of the plain text like [`plain_end`], but skips the known plain span.
    fn plain_end(&self, from: usize) -> usize {
        match self.longest {
            PlainSpan { from: known, end } if known == from && end > from => end,
            _ => plain_end(self.text.as_bytes(), from),
        }
    }

    fn read_string(&mut self) -> Result<Cow<'de, str>, Error> {
        let from = self.at + 1;
        self.at = self.plain_end(from);
        let plain = self.text_since(from)?;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let rest = self.text.get(from..).unwrap_or_default();
        let (value, length) = unescape(rest).ok_or_else(malformed_error)?;
        self.at = from + length + 1;
        Ok(Cow::Owned(value))
    }

    /// Reads the next string, with its quotes if it contains no escapes.
    fn read_quoted_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if self.peek_token() != Some(b'"') {
            return Err(malformed_error());
        }
        let from = self.at;
        match self.read_string()? {
            Cow::Borrowed(_) => visitor.visit_borrowed_str(self.text_since(from)?),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// Returns the text of the next value, which is tight. Only a value that is kept as text is
    /// searched for line ends.
    fn tight_text<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let from = self.at;
        let text = self.skip()?;
        if self.form == JsonForm::Tight && has_line_ends(text.as_bytes()) {
            self.at = from;
            return visitor.visit_some(self);
        }
        visitor.visit_borrowed_str(text)
    }

    fn enter_nesting(&mut self) -> Result<(), Error> {
        self.levels = self.levels.checked_sub(1).ok_or_else(malformed_error)?;
        self.at += 1;
        Ok(())
    }

    fn library(&mut self) -> Result<serde_json::Deserializer<serde_json::de::StrRead<'de>>, Error> {
        self.skip().map(serde_json::Deserializer::from_str)
    }
}

/// Creates the error without details; see the module documentation.
fn malformed_error() -> Error {
    Error::custom("not what was expected")
}

/// Reads these types with serde_json.
macro_rules! by_the_library {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Error> {
            self.library()?.$method($($argument,)* visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut JsonReader<'de> {
    type Error = Error;

    by_the_library! {
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_bytes() deserialize_byte_buf()
        deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_tuple(len: usize) deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) deserialize_identifier()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek_token() {
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            _ => self.library()?.deserialize_any(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.skip()? {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(malformed_error()),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek_token() != Some(b'"') {
            return Err(malformed_error());
        }
        match self.read_string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek_token() {
            Some(b'n') => {
                self.skip()?;
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match name {
            raw::TEXT if self.form != JsonForm::Any => self.tight_text(visitor),
            raw::TEXT => visitor.visit_some(self),
            OBJECT => self.deserialize_map(visitor),
            STRING => self.read_quoted_string(visitor),
            _ if raw::is_raw_value(name) => {
                raw::RawValueDeserializer(self.skip()?).deserialize_newtype_struct(name, visitor)
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek_token() != Some(b'[') {
            return Err(malformed_error());
        }
        self.enter_nesting()?;
        let mut items = ArrayItems::new(self);
        let value = visitor.visit_seq(&mut items)?;
        items.end().map(|()| value)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek_token() != Some(b'{') {
            return Err(malformed_error());
        }
        self.enter_nesting()?;
        let mut entries = ObjectEntries::new(self);
        let value = visitor.visit_map(&mut entries)?;
        entries.end().map(|()| value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.peek_token() {
            Some(b'[') => self.deserialize_seq(visitor),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }
}
