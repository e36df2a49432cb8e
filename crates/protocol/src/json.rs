//! JSON that is passed on byte for byte: tool arguments, schemas, and other values that haft does
//! not own.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::compact;
use crate::error::DecodeError;
use crate::reader::{self, CheckedJson, JsonForm, JsonText};
use crate::scan::{self, ScanLimits};

mod equality;
#[cfg(feature = "schema")]
mod schema;

#[cfg(feature = "schema")]
pub(crate) use schema::{array_schema, object_list_schema};
#[cfg(feature = "schema")]
pub use schema::{inlined_schema, object_schema};

/// One JSON value as compact text, kept exactly as it is sent and executed.
///
/// Gates, tools, events and the log all see the same bytes. A number such as `9007199254740993` is
/// never converted to a float, and the order of keys never changes. Two values are equal if their
/// texts are. Clones share the text.
#[derive(Clone)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Returns the empty object, `{}`: the arguments of a tool call without arguments.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// Returns the schema without arguments: an object without properties.
    pub fn empty_object_schema() -> Self {
        Self(r#"{"type":"object","properties":{}}"#.into())
    }

    /// Returns the schema of the type that a tool's arguments are read into, without references, which models and hosts
    /// do not follow.
    ///
    /// ```
    /// #[derive(schemars::JsonSchema)]
    /// struct Args {
    ///     /// The item to count.
    ///     item: String,
    /// }
    /// # let _ = Args { item: String::new() }.item;
    ///
    /// let schema: serde_json::Value = haft_protocol::RawJson::schema_of::<Args>().read()?;
    /// let item = serde_json::json!({ "type": "string", "description": "The item to count." });
    /// let expect = serde_json::json!({ "type": "object", "properties": { "item": item }, "required": ["item"] });
    /// assert_eq!(schema, expect);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[cfg(feature = "schema")]
    pub fn schema_of<Args: schemars::JsonSchema>() -> Self {
        let mut schema = inlined_schema::<Args>();
        // The name and documentation of a Rust type: the tool has its own.
        schema.remove("title");
        schema.remove("description");
        // Some model APIs reject an object schema without a list of properties.
        let no_properties = || serde_json::Value::Object(serde_json::Map::new());
        schema.ensure_object().entry("properties").or_insert_with(no_properties);
        schema.to_value().into()
    }

    /// Reads one JSON value from text and keeps it in compact form (no spaces between tokens).
    ///
    /// # Errors
    /// [`DecodeError`] if the text is not JSON, or is ambiguous: duplicate keys, deep nesting,
    /// numbers out of range.
    pub fn parse(text: &str) -> Result<Self, DecodeError> {
        let limits = ScanLimits::default();
        if scan::scan_overview(text, limits).is_none() {
            scan::scan(text, limits)?;
        }
        Ok(Self::from_checked_text(text))
    }

    /// Serializes a value.
    ///
    /// # Errors
    /// If the value has no JSON form, for example a map with keys that are not strings.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        // A value may contain raw JSON, and a newline in that would break a frame in two.
        Ok(Self::from_checked_text(&serde_json::to_string(value)?))
    }

    /// Creates a value from well-formed JSON.
    #[doc(hidden)]
    pub fn from_checked_text(text: &str) -> Self {
        match compact::is_compact(text) {
            true => Self(text.into()),
            false => Self(compact::compact(text).into()),
        }
    }

    /// Returns the compact text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the text as `T`.
    ///
    /// # Errors
    /// If the value does not have the shape of `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// True if both are the same value, in any order of keys and with any escapes. Numbers must be
    /// written alike: some programs distinguish `1` and `1.0`.
    pub fn same_value(&self, other: &Self) -> bool {
        self == other || equality::equal_json(self.as_str(), other.as_str())
    }

    /// True if the value is a JSON object, as the arguments of a tool must be.
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }
}

impl Default for RawJson {
    /// Returns the empty object.
    fn default() -> Self {
        Self::empty_object()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl std::hash::Hash for RawJson {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        reader::raw_value(&self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = JsonText::deserialize(deserializer)?;
        let CheckedJson { text, form, .. } = text.get();
        Ok(if form == JsonForm::Compact { Self(text.into()) } else { Self::from_checked_text(text) })
    }
}

pub(crate) fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    only_object(RawJson::deserialize(deserializer)?)
}

/// Reads an object; absent and `null` mean none.
pub fn optional_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    Option::<RawJson>::deserialize(deserializer)?.map(only_object).transpose()
}

/// Reads a list of objects; `null` means an empty one.
pub(crate) fn object_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RawJson>, D::Error> {
    let list = Option::<Vec<RawJson>>::deserialize(deserializer)?.unwrap_or_default();
    list.into_iter().map(only_object).collect()
}

fn only_object<E: serde::de::Error>(json: RawJson) -> Result<RawJson, E> {
    if json.is_object() { Ok(json) } else { Err(E::custom("expected a JSON object")) }
}

/// Reads an array; absent and `null` mean none.
pub(crate) fn optional_array<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    let json = Option::<RawJson>::deserialize(deserializer)?;
    match json {
        Some(json) if !json.as_str().starts_with('[') => Err(D::Error::custom("expected a JSON array")),
        json => Ok(json),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn keeps_numbers_and_order_and_drops_spaces() {
        let json = RawJson::parse(r#" { "b" : 9007199254740993, "a" : " x : y " } "#).unwrap();
        assert_eq!(json.as_str(), r#"{"b":9007199254740993,"a":" x : y "}"#);
    }

    #[test]
    fn round_trips_inside_a_struct() {
        #[derive(Serialize, Deserialize)]
        struct Holder {
            args: RawJson,
        }
        let holder: Holder = serde_json::from_str(r#"{"args":{"n":1e2, "s":"\u00e9"}}"#).unwrap();
        assert_eq!(serde_json::to_string(&holder).unwrap(), r#"{"args":{"n":1e2,"s":"\u00e9"}}"#);
    }

    #[test]
    fn escapes_line_ends() {
        let json =
            RawJson::from_value(&RawValue::from_string("{\n\"a\":\"\u{2028}\"\r}".into()).unwrap()).unwrap();
        assert_eq!(json.as_str(), r#"{"a":"\u2028"}"#);
        assert_eq!(RawJson::parse("\"\u{85}\"").unwrap().as_str(), r#""\u0085""#);
    }

    #[test]
    fn refuses_duplicate_keys() {
        assert!(matches!(RawJson::parse(r#"{"a":1,"a":2}"#), Err(DecodeError::DuplicateKey { .. })));
    }
}
