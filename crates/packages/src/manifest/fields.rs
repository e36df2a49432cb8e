//! Reads typed fields of a JSON object, with errors that name the file and the field.

use std::fmt;
use std::path::Path;

use haft_protocol::RawJson;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::text::is_hidden;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ManifestError;
use crate::timeouts::MAX_ASKED;

/// The fields of an object, with keys in any case.
#[derive(Debug)]
pub(crate) struct ObjectFields<'a> {
    path: &'a Path,
    /// The text before a field's name in errors; empty for the manifest itself.
    prefix: String,
    /// The fields, sorted by their keys in lower case.
    values: Vec<(String, FieldValue)>,
}

/// A JSON object as written: keys in any order and in any case.
#[derive(Debug)]
pub(crate) struct JsonObject(Vec<(String, FieldValue)>);

#[derive(Debug)]
enum FieldValue {
    Value(Value),
    /// The unparsed text of one of [`TEXTS`].
    Text(Box<RawValue>),
}

/// The fields of a manifest that are kept as text and parsed later.
const TEXTS: [&str; 2] = ["commands", "tools"];

impl<'a> ObjectFields<'a> {
    pub(crate) fn new(path: &'a Path, object: JsonObject) -> Result<Self, ManifestError> {
        Self::with_prefix(path, String::new(), object)
    }

    fn with_prefix(path: &'a Path, prefix: String, object: JsonObject) -> Result<Self, ManifestError> {
        let JsonObject(mut values) = object;
        for (key, _) in &mut values {
            key.make_ascii_lowercase();
        }
        values.sort_by(|(one, _), (other, _)| one.cmp(other));
        let fields = Self { path, prefix, values };
        // Two spellings of one key would let two readers see two different manifests.
        let twice = fields.values.array_windows().find(|[(one, _), (other, _)]| one == other);
        match twice {
            Some([(key, _), _]) => Err(fields.error(key, "occurs twice")),
            None => Ok(fields),
        }
    }

    /// Returns an error about a field. `problem` continues a sentence after the field's name.
    pub(crate) fn error(&self, field: &str, problem: &str) -> ManifestError {
        let field = format!("{}{field}", self.prefix);
        ManifestError::Field { path: self.path.into(), field, problem: problem.into() }
    }

    /// Returns a text without invisible characters. Absent, `null` and empty are the same.
    pub(crate) fn text(&self, field: &str) -> Result<Option<String>, ManifestError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => {
                self.require_visible_text(field, text).map(|text| (!text.is_empty()).then_some(text))
            }
            Some(other) => Err(self.wrong_type_error(field, "a string", other)),
        }
    }

    /// Returns a boolean. The string `"false"` is rejected.
    pub(super) fn boolean(&self, field: &str) -> Result<Option<bool>, ManifestError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.wrong_type_error(field, "true or false", other)),
        }
    }

    /// Returns a time from 1 to [`MAX_ASKED`] milliseconds.
    pub(super) fn milliseconds(&self, field: &str) -> Result<Option<u64>, ManifestError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let most = MAX_ASKED.as_millis();
        match value.as_u64() {
            Some(0) | None => {
                Err(self.error(field, &format!("must be a positive whole number, not {value}")))
            }
            Some(asked) if u128::from(asked) > most => {
                Err(self.error(field, &format!("must be at most {most}")))
            }
            asked => Ok(asked),
        }
    }

    pub(crate) fn text_list(&self, field: &str) -> Result<Vec<String>, ManifestError> {
        let text = |value: &Value| match value.as_str() {
            Some(text) => self.require_visible_text(field, text),
            None => Err(self.wrong_type_error(field, "a list of strings", value)),
        };
        self.list(field)?.iter().map(text).collect()
    }

    pub(crate) fn object(&self, field: &str) -> Result<Option<Self>, ManifestError> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Object(object)) => {
                Self::with_prefix(self.path, format!("{}{field}.", self.prefix), object.into()).map(Some)
            }
            Some(other) => Err(self.wrong_type_error(field, "an object", other)),
        }
    }

    /// Rejects every key except these, which are in lower case.
    pub(crate) fn reject_unknown_keys(&self, known: &[&str]) -> Result<(), ManifestError> {
        match self.values.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some((key, _)) => {
                let shown: String = key.chars().filter(|&c| !c.is_control() && !is_hidden(c)).collect();
                Err(self
                    .error(&shown, &format!("is not known here; the known fields are {}", known.join(", "))))
            }
        }
    }

    /// Rejects other values than `block` of `on_timeout` and `on_error`. Only the user can relax a gate, so an author
    /// who sets another value relies on an effect that does not happen.
    pub(super) fn require_block_policy(&self) -> Result<(), ManifestError> {
        for field in ["on_timeout", "on_error"] {
            if self.text(field)?.is_some_and(|value| value != "block") {
                let rule = "must be `block` in a manifest; only the user can set `on_timeout` for an extension, \
                    in config.toml";
                return Err(self.error(field, rule));
            }
        }
        Ok(())
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.get(field).is_some()
    }

    pub(crate) fn objects(&self, field: &str) -> Result<Vec<Self>, ManifestError> {
        let object = |(index, value): (usize, &Value)| {
            let object =
                value.as_object().ok_or_else(|| self.wrong_type_error(field, "a list of objects", value))?;
            Self::with_prefix(self.path, format!("{}{field}[{index}].", self.prefix), object.into())
        };
        self.list(field)?.iter().enumerate().map(object).collect()
    }

    /// Rejects characters that are not visible as they are. Nothing is removed, because the approved text must be the
    /// text that runs.
    fn require_visible_text(&self, field: &str, text: &str) -> Result<String, ManifestError> {
        // The common case, without a check of each character.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Ok(text.to_owned());
        }
        match text.chars().find(|&c| c.is_control() || is_hidden(c)) {
            Some(_) if !is_up(Defense::ManifestText) => Ok(text.to_owned()),
            None => Ok(text.to_owned()),
            Some(c) => {
                let problem = format!("must not contain the invisible character U+{:04X}", u32::from(c));
                Err(self.error(field, &problem))
            }
        }
    }

    /// Returns a list of any values. An absent list is empty.
    fn list(&self, field: &str) -> Result<&[Value], ManifestError> {
        match self.get(field) {
            None => Ok(&[]),
            Some(Value::Array(values)) => Ok(values),
            Some(other) => Err(self.wrong_type_error(field, "a list", other)),
        }
    }

    /// Returns the elements of a list that is kept as text. An absent list is empty.
    pub(super) fn elements<T: DeserializeOwned>(
        &self,
        field: &str,
        kind: &str,
    ) -> Result<Vec<T>, ManifestError> {
        let Some(FieldValue::Text(list)) = self.find(field) else { return Ok(Vec::new()) };
        if let Ok(elements) = serde_json::from_str::<Option<Vec<T>>>(list.get()) {
            return Ok(elements.unwrap_or_default());
        }
        let elements: Vec<&RawValue> =
            serde_json::from_str(list.get()).map_err(|_| self.error(field, "must be a list"))?;
        let element = |(index, element): (usize, &RawValue)| {
            let wrong =
                |error| self.error(&format!("{field}[{index}]"), &format!("is not a {kind}: {error}"));
            serde_json::from_str(element.get()).map_err(wrong)
        };
        elements.into_iter().enumerate().map(element).collect()
    }

    fn get(&self, field: &str) -> Option<&Value> {
        match self.find(field)? {
            FieldValue::Value(Value::Null) | FieldValue::Text(_) => None,
            FieldValue::Value(value) => Some(value),
        }
    }

    fn find(&self, field: &str) -> Option<&FieldValue> {
        let at = self.values.binary_search_by(|(key, _)| key.as_str().cmp(field)).ok()?;
        self.values.get(at).map(|(_, value)| value)
    }

    fn wrong_type_error(&self, field: &str, expected: &str, got: &Value) -> ManifestError {
        let got = match got {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.error(field, &format!("must be {expected}, not {got}"))
    }
}

impl From<&Map<String, Value>> for JsonObject {
    fn from(object: &Map<String, Value>) -> Self {
        Self(object.iter().map(|(key, value)| (key.clone(), FieldValue::Value(value.clone()))).collect())
    }
}

impl JsonObject {
    /// Reads a manifest, with the fields of [`TEXTS`] as unparsed text.
    pub(super) fn from_manifest(json: &RawJson) -> Result<Self, serde_json::Error> {
        serde_json::Deserializer::from_str(json.as_str()).deserialize_map(ObjectVisitor { texts: &TEXTS })
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor { texts: &[] })
    }
}

/// Reads the entries of an object.
struct ObjectVisitor {
    texts: &'static [&'static str],
}

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = JsonObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<JsonObject, A::Error> {
        let mut values = Vec::with_capacity(8);
        while let Some(key) = entries.next_key::<String>()? {
            let value = match self.texts.iter().any(|text| key.eq_ignore_ascii_case(text)) {
                true => FieldValue::Text(entries.next_value()?),
                false => FieldValue::Value(entries.next_value()?),
            };
            values.push((key, value));
        }
        Ok(JsonObject(values))
    }
}
