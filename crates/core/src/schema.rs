//! Tool arguments against the tool's JSON Schema.

use std::fmt;

use haft_protocol::RawJson;
use jsonschema::PatternOptions;
use serde_json::Value;

/// A schema, compiled. Never fetches anything: `$ref` to a URL or a file is refused; patterns run in linear time.
pub struct Validator(jsonschema::Validator);

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`] when it is not an object, not a schema, or refers to something outside itself.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaError> {
        let schema: Value = schema.read().map_err(|error| SchemaError(error.to_string()))?;
        if !schema.is_object() {
            return Err(SchemaError("a tool's schema must be a JSON object".to_owned()));
        }
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map(Self)
            .map_err(|error| SchemaError(error.to_string()))
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// [`ArgsError`], worded for the model: every mismatch with its path.
    pub fn check(&self, args: &RawJson) -> Result<(), ArgsError> {
        if !args.is_object() {
            let start: String = args.as_str().chars().take(60).collect();
            return Err(ArgsError(format!("arguments must be a JSON object, got {start}")));
        }
        let value: Value = args.read().map_err(|error| ArgsError(error.to_string()))?;
        let faults: Vec<String> =
            self.0.iter_errors(&value).take(MAX_FAULTS).map(|error| describe(&error)).collect();
        if faults.is_empty() { Ok(()) } else { Err(ArgsError(faults.join("; "))) }
    }
}

/// How many mismatches the model is told at once.
const MAX_FAULTS: usize = 5;

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().as_str().to_owned();
    if path.is_empty() { error.to_string() } else { format!("{path}: {error}") }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

/// A tool's schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unusable schema: {0}")]
pub struct SchemaError(String);

/// Arguments that do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgsError(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn city() -> Validator {
        let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
        Validator::compile(&RawJson::parse(schema).unwrap()).unwrap()
    }

    #[track_caller]
    fn check(args: &str, expect: &str) {
        let got = match city().check(&RawJson::parse(args).unwrap()) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn every_mismatch_is_named_with_its_path() {
        check(r#"{"city":"Berlin"}"#, "");
        check(r#"{"city":7}"#, r#"/city: 7 is not of type "string""#);
        check("{}", r#""city" is a required property"#);
        check("null", "arguments must be a JSON object, got null");
        check("[1]", "arguments must be a JSON object, got [1]");
    }

    #[test]
    fn nothing_outside_the_schema_is_read() {
        for schema in [r#"{"$ref":"http://127.0.0.1:1/x"}"#, r#"{"$ref":"file:///etc/passwd"}"#, "7", "\"x\""]
        {
            assert!(Validator::compile(&RawJson::parse(schema).unwrap()).is_err(), "{schema}");
        }
    }
}
