//! The members of arrays and objects.

use std::borrow::Cow;

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};
use serde_json::Error;

use super::{JsonReader, malformed_error};

/// The values of an array.
pub(super) struct ArrayItems<'r, 'de>(MemberCursor<'r, 'de>);

/// The keys and values of an object.
pub(super) struct ObjectEntries<'r, 'de>(MemberCursor<'r, 'de>);

struct MemberCursor<'r, 'de> {
    reader: &'r mut JsonReader<'de>,
    first: bool,
    over: bool,
}

impl<'r, 'de> ArrayItems<'r, 'de> {
    pub(super) fn new(reader: &'r mut JsonReader<'de>) -> Self {
        Self(MemberCursor { reader, first: true, over: false })
    }

    /// Checks that all items have been read.
    pub(super) fn end(self) -> Result<(), Error> {
        self.0.end()
    }
}

impl<'r, 'de> ObjectEntries<'r, 'de> {
    pub(super) fn new(reader: &'r mut JsonReader<'de>) -> Self {
        Self(MemberCursor { reader, first: true, over: false })
    }

    /// Checks that all entries have been read.
    pub(super) fn end(self) -> Result<(), Error> {
        self.0.end()
    }
}

impl MemberCursor<'_, '_> {
    /// True if there is another member; the reader is then at its beginning.
    fn next(&mut self, close: u8) -> Result<bool, Error> {
        match self.reader.peek_token() {
            Some(byte) if byte == close => {
                self.reader.at += 1;
                self.over = true;
                return Ok(false);
            }
            Some(b',') if !self.first => self.reader.at += 1,
            Some(_) if self.first => self.first = false,
            _ => return Err(malformed_error()),
        }
        self.reader.peek_token();
        Ok(true)
    }

    fn end(self) -> Result<(), Error> {
        self.reader.levels += 1;
        if self.over { Ok(()) } else { Err(malformed_error()) }
    }
}

impl<'de> SeqAccess<'de> for ArrayItems<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        match self.0.next(b']')? {
            true => seed.deserialize(&mut *self.0.reader).map(Some),
            false => Ok(None),
        }
    }
}

impl<'de> MapAccess<'de> for ObjectEntries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.0.next(b'}')? {
            return Ok(None);
        }
        if self.0.reader.peek() != Some(b'"') {
            return Err(malformed_error());
        }
        match self.0.reader.read_string()? {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some),
            Cow::Owned(key) => seed.deserialize(StringDeserializer::new(key)).map(Some),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        if self.0.reader.peek_token() != Some(b':') {
            return Err(malformed_error());
        }
        self.0.reader.at += 1;
        seed.deserialize(&mut *self.0.reader)
    }
}
