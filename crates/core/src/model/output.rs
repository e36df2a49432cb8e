//! `OutputSchema`: the form of an answer that a program reads.

use std::fmt;
use std::sync::Arc;

use haft_protocol::RawJson;
#[cfg(feature = "schemars")]
use haft_protocol::inlined_schema;
use serde::Serialize;

use crate::schema::{SchemaError, SchemaValidator};

/// The most characters of a name that every provider accepts.
const MAX_NAME: usize = 64;

/// The JSON schema of an answer, with a name. Clones share the schema.
///
/// ```
/// use haft_core::model::OutputSchema;
/// use haft_core::protocol::RawJson;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
/// let place = OutputSchema::new("place", RawJson::parse(schema)?)?;
/// assert_eq!(place.check(r#"{"city": "Oslo"}"#)?.as_str(), r#"{"city":"Oslo"}"#);
/// assert!(place.check(r#"{"town": "Oslo"}"#).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Serialize)]
pub struct OutputSchema {
    name: String,
    schema: RawJson,
    #[serde(skip)]
    validator: Arc<SchemaValidator>,
}

impl OutputSchema {
    /// Creates a schema from JSON. Characters of the name that a provider could reject become `_`.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema is not valid, or does not describe an object: `"type": "object"`.
    pub fn new(name: &str, schema: RawJson) -> Result<Self, SchemaError> {
        let validator = SchemaValidator::compile_object(&schema)?;
        let is_accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name: String =
            name.chars().take(MAX_NAME).map(|c| if is_accepted(c) { c } else { '_' }).collect();
        let name = if name.is_empty() { "answer".to_owned() } else { name };
        Ok(Self { name, schema, validator: Arc::new(validator) })
    }

    /// Creates the schema of a Rust type.
    ///
    /// # Errors
    /// [`SchemaError`] if the type is not a struct with named fields.
    #[cfg(feature = "schemars")]
    pub fn for_type<T: schemars::JsonSchema>() -> Result<Self, SchemaError> {
        Self::new(&T::schema_name(), inlined_schema::<T>().to_value().into())
    }

    /// Returns the name, which some providers show to the model: letters, digits, `_` and `-`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema.
    pub fn json_schema(&self) -> &RawJson {
        &self.schema
    }

    /// Returns the JSON of an answer that fits the schema. A code fence around the JSON is ignored.
    ///
    /// # Errors
    /// The mistakes, as a message for the model.
    pub fn check(&self, answer: &str) -> Result<RawJson, String> {
        let json = RawJson::parse(without_fence(answer)).map_err(|error| error.to_string())?;
        self.validator.check(&json).map_err(|error| error.to_string())?;
        Ok(json)
    }

    /// Returns the message that asks a model to correct its answer.
    pub(crate) fn correction_message(&self, mistake: &str) -> String {
        format!(
            "Your answer does not fit its JSON schema: {mistake}\nAnswer again with one JSON object that fits the \
             schema, and with nothing else. The schema: {}",
            self.schema
        )
    }
}

/// Returns the text inside of a code fence, if the whole answer is one.
fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(answer, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputSchema").field("name", &self.name).field("schema", &self.schema).finish()
    }
}

impl PartialEq for OutputSchema {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.schema == other.schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(name: &str, schema: &str) -> Result<OutputSchema, SchemaError> {
        OutputSchema::new(name, RawJson::parse(schema).unwrap())
    }

    #[test]
    fn checks_answers_with_and_without_a_fence() {
        let place = schema("place", r#"{"type":"object","required":["city"]}"#).unwrap();
        for answer in
            [r#"{"city":1}"#, " {\"city\": 1}\n", "```json\n{\"city\":1}\n```", "```\n{\"city\":1}```"]
        {
            assert_eq!(place.check(answer).unwrap().as_str(), r#"{"city":1}"#, "{answer}");
        }
        for answer in ["", "It is Oslo.", "[1]", "{}", r#"{"city":1} and more"#] {
            assert!(place.check(answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn names_are_those_that_providers_accept() {
        let name = |text: &str| schema(text, r#"{"type":"object"}"#).unwrap().name().to_owned();
        assert_eq!(name("Vec<Place>"), "Vec_Place_");
        assert_eq!(name(""), "answer");
        assert_eq!(name(&"x".repeat(90)).len(), MAX_NAME);
    }

    #[test]
    fn rejects_schemas_of_other_values() {
        for text in [r#"{"type":"array"}"#, r#"{"type":["object","null"]}"#, "{}", "true", r#"{"type":7}"#] {
            assert!(schema("x", text).is_err(), "{text}");
        }
    }

    #[cfg(feature = "schemars")]
    #[test]
    fn types_have_schemas() {
        /// A place.
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Place {
            city: String,
        }
        let place = OutputSchema::for_type::<Place>().unwrap();
        assert_eq!(place.name(), "Place");
        assert!(place.check(r#"{"city":"Oslo"}"#).is_ok() && place.check(r#"{"city":1}"#).is_err());
        assert!(OutputSchema::for_type::<Vec<Place>>().is_err());
    }
}
