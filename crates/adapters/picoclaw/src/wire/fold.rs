//! Reads JSON as Go reads it: without regard to the case of field names, and with `null` as an
//! absent field.
//!
//! Hooks are written for a Go program, many of them in Go. Go's reader takes `"Action"` for
//! `"action"` and `"messages":null` for no messages. Keys of free-form objects (arguments, schemas)
//! stay unchanged. Go uses the last of two keys that differ only in case; this reader rejects both,
//! because a gate must not depend on their order.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

use haft_protocol::RawJson;
use haft_protocol::foreign::{JsonReader, keeps_text, without_position};

/// Reads `T` as Go would, from the params of a call or the result of a reply.
///
/// # Errors
/// The field and the mistake, for people.
pub fn read<T: DeserializeOwned>(json: &RawJson) -> Result<T, String> {
    read_text(json.as_str())
}

/// Reads `T` like [`read`], from well-formed JSON.
pub(super) fn read_text<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    read_field("", text)
}

pub(super) fn read_field<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, String> {
    T::deserialize(FoldedValue(text)).map_err(|error| {
        // Tracking the path costs time, so only a text that failed is read again with it.
        match serde_path_to_error::deserialize::<_, T>(FoldedValue(text)) {
            Ok(_) => locate_error(name, "", &error),
            Err(error) => locate_error(name, error.path().to_string().trim_matches('.'), error.inner()),
        }
    })
}

/// Returns an error message with its place, cut if it quotes a long text.
fn locate_error(name: &str, path: &str, error: &Error) -> String {
    let message: String = without_position(error).chars().take(LONGEST_MESSAGE).collect();
    let dot = if name.is_empty() || path.is_empty() || path.starts_with('[') { "" } else { "." };
    match format!("{name}{dot}{path}") {
        place if place.is_empty() => message,
        place => format!("{place}: {message}"),
    }
}

const LONGEST_MESSAGE: usize = 200;

/// The fields of an object, in order.
#[derive(Debug)]
pub(super) struct ObjectFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> ObjectFields<'a> {
    /// Reads the fields of a well-formed text; none for `null`.
    ///
    /// # Errors
    /// If the text is not an object.
    pub(super) fn parse(text: &'a str) -> Result<Self, Error> {
        match text {
            NULL => Ok(Self(Vec::new())),
            _ => json_reader(text).deserialize_map(ObjectFieldsVisitor),
        }
    }

    /// Reads the fields of any text, which may contain duplicate keys at deeper levels.
    pub(super) fn parse_leniently(text: &'a str) -> Option<Self> {
        serde_json::Deserializer::from_str(text).deserialize_map(ObjectFieldsVisitor).ok()
    }

    /// Returns the value of a field; `None` if it is absent or `null`.
    ///
    /// # Errors
    /// If the field occurs twice.
    pub(super) fn get(&self, name: &str) -> Result<Option<&'a str>, String> {
        let mut found = self.matching(name);
        let first = found.next();
        match found.next() {
            Some((second, _)) => Err(format!("{name:?} occurs twice, once as {second:?}")),
            None => Ok(first.map(|(_, value)| value.get()).filter(|value| *value != NULL)),
        }
    }

    /// True if the field exists, even as `null`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.matching(name).next().is_some()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Iterates over the names and the texts of their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (&**name, value.get()))
    }

    fn matching(&self, name: &str) -> impl Iterator<Item = &(Cow<'a, str>, &'a RawValue)> {
        self.0.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name))
    }
}

const NULL: &str = "null";

/// Creates a reader of well-formed text, the only input of this module.
fn json_reader(text: &str) -> JsonReader<'_> {
    JsonReader::from_checked_text(text)
}

struct ObjectFieldsVisitor;

impl<'de> Visitor<'de> for ObjectFieldsVisitor {
    type Value = ObjectFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectFields<'de>, A::Error> {
        /// Needs `borrow`, which serde does not infer for a `Cow`.
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

        let mut fields = Vec::new();
        while let Some((Key(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(ObjectFields(fields))
    }
}

#[derive(Clone, Copy)]
struct FoldedValue<'de>(&'de str);

impl<'de> FoldedValue<'de> {
    fn is_null(self) -> bool {
        self.0 == NULL
    }

    fn plainly(self) -> serde_json::Deserializer<serde_json::de::StrRead<'de>> {
        serde_json::Deserializer::from_str(self.0)
    }
}

impl<'de> IntoDeserializer<'de, Error> for FoldedValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Reads these types as serde_json does, and `null` as the default.
macro_rules! scalars {
    ($($method:ident = $visit:ident($zero:expr),)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            if self.is_null() {
                return visitor.$visit($zero);
            }
            self.plainly().$method(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for FoldedValue<'de> {
    type Error = Error;

    scalars! {
        deserialize_bool = visit_bool(false),
        deserialize_i8 = visit_i8(0),
        deserialize_i16 = visit_i16(0),
        deserialize_i32 = visit_i32(0),
        deserialize_i64 = visit_i64(0),
        deserialize_u8 = visit_u8(0),
        deserialize_u16 = visit_u16(0),
        deserialize_u32 = visit_u32(0),
        deserialize_u64 = visit_u64(0),
        deserialize_f32 = visit_f32(0.0),
        deserialize_f64 = visit_f64(0.0),
        deserialize_str = visit_borrowed_str(""),
        deserialize_string = visit_borrowed_str(""),
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.plainly().deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if keeps_text(name) {
            return json_reader(self.0).deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let items: Vec<&RawValue> = match self.0 {
            NULL => Vec::new(),
            text if text.starts_with('[') => Deserialize::deserialize(&mut json_reader(text))?,
            _ => return self.plainly().deserialize_seq(visitor),
        };
        SeqDeserializer::new(items.into_iter().map(|item| Self(item.get()))).deserialize_any(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if !self.is_null() && !self.0.starts_with('{') {
            return self.plainly().deserialize_map(visitor);
        }
        let ObjectFields(fields) = ObjectFields::parse(self.0)?;
        let entries = fields.into_iter().map(|(name, value)| (name, Self(value.get())));
        visitor.visit_map(MapDeserializer::new(entries))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if !self.is_null() && !self.0.starts_with('{') {
            // A derived reader would accept an array as the fields in order.
            return self.plainly().deserialize_map(visitor);
        }
        let fields = ObjectFields::parse(self.0)?;
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            if let Some(value) = fields.get(name).map_err(Error::custom)? {
                entries.push((*name, Self(value)));
            } else if fields.has(name) {
                entries.push((*name, Self(NULL)));
            }
        }
        visitor.visit_map(MapDeserializer::new(entries.into_iter()))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.plainly().deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Inner {
        text: String,
        #[serde(rename = "ChatID")]
        chat: u64,
        on: bool,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Outer {
        one: Option<Inner>,
        many: Vec<Inner>,
        free: Option<RawJson>,
    }

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let read = read::<Outer>(&RawJson::parse(text).unwrap());
        let read = read.map(|outer| serde_json::to_string(&outer).unwrap());
        assert_eq!(read.as_deref().map_err(String::as_str), expect, "{text}");
    }

    const EMPTY: &str = r#"{"one":null,"many":[],"free":null}"#;

    #[test]
    fn field_names_ignore_case_but_map_keys_do_not() {
        let expect = r#"{"one":{"text":"a","ChatID":7,"on":true},"many":[],"free":{"Text":1,"text":2}}"#;
        check(
            r#"{"One":{"TEXT":"a","chatid":7,"on":true},"FREE":{"Text":1,"text":2},"other":[{}]}"#,
            Ok(expect),
        );
    }

    #[test]
    fn null_is_read_as_absent() {
        check("null", Ok(EMPTY));
        check(r#"{"one":null,"many":null,"free":null}"#, Ok(EMPTY));
        let expect = r#"{"one":{"text":"","ChatID":0,"on":false},"many":[{"text":"","ChatID":0,"on":false}],"free":null}"#;
        check(r#"{"one":{"text":null,"ChatID":null,"on":null},"many":[null]}"#, Ok(expect));
    }

    #[test]
    fn error_names_the_field() {
        check("[]", Err("invalid type: sequence, expected struct Outer"));
        check(r#"{"one":[]}"#, Err("one: invalid type: sequence, expected struct Inner"));
        check(
            r#"{"many":[{},{"text":5}]}"#,
            Err("many[1].text: invalid type: integer `5`, expected a string"),
        );
        check(r#"{"many":{}}"#, Err("many: invalid type: map, expected a sequence"));
        check(r#"{"one":{"Text":"a","text":"b"}}"#, Err("one: \"text\" occurs twice, once as \"text\""));
    }
}
