//! Validates tool arguments against the tool's JSON Schema.

mod cost;
mod plain;

use std::fmt;

use haft_protocol::RawJson;
use haft_protocol::defense::{Defense, is_up};
use jsonschema::PatternOptions;
use serde_json::{Map, Value};

pub use plain::is_plain_object;

/// The maximum number of errors that are reported to the model at once.
const MAX_FAULTS: usize = 5;

/// The maximum bytes of an error description, which may quote the arguments.
const MAX_FAULT: usize = 400;

const MAX_PATTERNS: usize = 32;

/// The maximum size of a compiled pattern in bytes.
const MAX_PATTERN: usize = 256 * 1024;

/// A compiled schema. It never fetches anything: a `$ref` is a path inside the schema. Patterns run in linear time, and
/// a check takes a bounded number of steps for any schema.
pub struct SchemaValidator {
    compiled: jsonschema::Validator,
    schema: Value,
}

impl SchemaValidator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema is not an object, is not valid, refers to something outside itself, or is too
    /// complex for any arguments.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaError> {
        let schema: Value = schema.read().map_err(|error| SchemaError(error.to_string()))?;
        if !schema.is_object() {
            return Err(SchemaError("a tool's schema must be a JSON object".to_owned()));
        }
        if is_up(Defense::SchemaWork) {
            check_schema(&schema, &mut 0).map_err(SchemaError)?;
            let nothing = Value::Object(Map::new());
            cost::count_steps(&schema, &nothing).map_err(|error| SchemaError(error.to_string()))?;
        }
        let compiled = jsonschema::options()
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN))
            .build(&schema)
            .map_err(|error| SchemaError(shorten(error.to_string())))?;
        Ok(Self { compiled, schema })
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// [`ArgsError`] with a message for the model: each error with its path.
    pub fn check(&self, args: &RawJson) -> Result<(), ArgsError> {
        if !args.is_object() {
            let start: String = args.as_str().chars().take(60).collect();
            return Err(ArgsError(format!("arguments must be a JSON object, got {start}")));
        }
        let value: Value = args.read().map_err(|error| ArgsError(error.to_string()))?;
        cost::count_steps(&self.schema, &value)
            .map_err(|error| ArgsError(format!("arguments cannot be checked: {error}")))?;
        if !is_up(Defense::ArgumentSchema) {
            return Ok(());
        }
        let faults: Vec<String> =
            self.compiled.iter_errors(&value).take(MAX_FAULTS).map(|error| describe_error(&error)).collect();
        if faults.is_empty() { Ok(()) } else { Err(ArgsError(faults.join("; "))) }
    }
}

/// Checks all parts of a schema, including those that no arguments would reach: references must stay inside, and the
/// number of patterns is limited.
fn check_schema(schema: &Value, patterns: &mut usize) -> Result<(), String> {
    let Value::Object(keywords) = schema else {
        let elements = schema.as_array().into_iter().flatten();
        return elements.into_iter().try_for_each(|element| check_schema(element, patterns));
    };
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("$ref", Value::String(to)) if to != "#" && !to.starts_with("#/") => {
                return Err(format!(
                    "$ref {:?} is not a path inside the schema; use a path such as #/$defs/name",
                    excerpt(to)
                ));
            }
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                return Err(format!("{keyword} is not supported; use $ref"));
            }
            ("pattern", Value::String(_)) => *patterns += 1,
            ("patternProperties", Value::Object(all)) => *patterns += all.len(),
            _ => {}
        }
        check_schema(value, patterns)?;
    }
    if *patterns > MAX_PATTERNS {
        Err(format!("the schema has more than {MAX_PATTERNS} patterns"))
    } else {
        Ok(())
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

fn describe_error(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().as_str().to_owned();
    shorten(if path.is_empty() { error.to_string() } else { format!("{path}: {error}") })
}

/// Returns both ends of a long text: the path is at the beginning, the error at the end.
fn shorten(text: String) -> String {
    if text.len() <= MAX_FAULT {
        return text;
    }
    let start = text.get(..text.floor_char_boundary(MAX_FAULT / 2)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len() - MAX_FAULT / 2)..).unwrap_or_default();
    format!("{start} … {end}")
}

impl fmt::Debug for SchemaValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SchemaValidator")
    }
}

/// The error for a tool's schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unusable schema: {0}")]
pub struct SchemaError(String);

/// The error for arguments that do not match the schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgsError(String);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn city() -> SchemaValidator {
        let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
        SchemaValidator::compile(&RawJson::parse(schema).unwrap()).unwrap()
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
    fn reports_every_mismatch_with_its_path() {
        check(r#"{"city":"Berlin"}"#, "");
        check(r#"{"city":7}"#, r#"/city: 7 is not of type "string""#);
        check("{}", r#""city" is a required property"#);
        check("null", "arguments must be a JSON object, got null");
        check("[1]", "arguments must be a JSON object, got [1]");
    }

    fn compiled(schema: Value) -> Result<SchemaValidator, String> {
        SchemaValidator::compile(&RawJson::from(schema)).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refused(schema: Value, expect: &str) {
        let error = compiled(schema).err().unwrap();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn reads_nothing_outside_the_schema() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        refused(json!({"$ref": url}), "not a path inside");
        refused(json!({"properties": {"a": {"$ref": url}}}), "not a path inside");
        refused(json!({"$id": url, "$ref": "other"}), "not a path inside");
        refused(json!({"$dynamicRef": url}), "not supported");
        refused(json!({"$schema": url}), "meta-schema");
        refused(json!({"$ref": "file:///etc/passwd"}), "not a path inside");
        refused(json!({"properties": {"a": {"$id": "file:///etc/", "$ref": "passwd"}}}), "not a path inside");
        refused(json!({"$ref": "#/$defs/none"}), "not a path inside");
        refused(json!(7), "must be a JSON object");
        let nobody = listener.accept().unwrap_err();
        assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "a client connected");
    }

    #[test]
    fn a_property_may_have_any_name() {
        let schema = json!({"properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}});
        compiled(schema).unwrap().check(&RawJson::parse(r#"{"$ref":"x"}"#).unwrap()).unwrap();
    }

    /// Creates definitions that each refer to the next one twice.
    fn branching(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
        let mut defs = Map::new();
        for level in 0..levels {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            defs.insert(format!("d{level}"), wrap(next));
        }
        defs.insert(format!("d{levels}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    }

    #[test]
    fn rejects_infinitely_recursive_schema() {
        refused(json!({"$ref": "#"}), "steps");
        refused(json!({"allOf": [{"$ref": "#"}]}), "steps");
        refused(json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}), "steps");
        refused(branching(40, |next| json!({"anyOf": [next, next]})), "steps");
        refused(branching(40, |next| json!({"unevaluatedProperties": false, "allOf": [next]})), "steps");
        compiled(branching(8, |next| json!({"anyOf": [next, next]}))).unwrap();
    }

    #[test]
    fn accepts_recursive_schema_for_finite_arguments() {
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "%20": true},
            "additionalProperties": false});
        let tree = compiled(tree).unwrap();
        tree.check(&RawJson::parse(r#"{"left":{"left":{}},"right":{}}"#).unwrap()).unwrap();
        let error = tree.check(&RawJson::parse(r#"{"left":{"x":1}}"#).unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("/left: "), "{error}");
        // The same schema, but every level is visited twice.
        let twice = json!({"properties": {"a": {"$ref": "#"}}});
        let twice = json!({"anyOf": [twice, twice, {"const": 1}]});
        let deep = (0..50).fold(json!(2), |inner, _| json!({ "a": inner }));
        let error = compiled(twice).unwrap().check(&RawJson::from(deep)).unwrap_err();
        assert!(error.to_string().contains("steps"), "{error}");
    }

    #[test]
    fn limits_steps_for_many_alternatives_and_values() {
        let any = |count: usize| json!({ "anyOf": vec![json!({"required": ["x"]}); count] });
        let alternatives = compiled(any(3_000)).unwrap();
        assert!(alternatives.check(&RawJson::empty_object()).is_err());
        let each = compiled(json!({"properties": {"list": {"items": any(3_000)}}})).unwrap();
        let few = RawJson::from(json!({"list": [{"x": 1}, {"x": 2}]}));
        each.check(&few).unwrap();
        let many = RawJson::from(json!({"list": vec![json!({}); 10_000]}));
        assert!(each.check(&many).unwrap_err().to_string().contains("steps"));
    }

    #[test]
    fn patterns_take_linear_time_and_limited_memory() {
        let schema =
            json!({"properties": {"a": {"pattern": "^(a+)+$"}, "b": {"pattern": "^[\\w.-]{1,64}@\\w+$"}}});
        let args = json!({"a": format!("{}!", "a".repeat(200_000)), "b": "x@y"});
        let error = compiled(schema).unwrap().check(&RawJson::from(args)).unwrap_err().to_string();
        assert!(error.starts_with("/a: ") && error.len() < 1_000, "{error}");
        refused(json!({"pattern": "(a{1,1000}){1,1000}"}), "");
        let patterns: Map<String, Value> =
            (0..=MAX_PATTERNS).map(|index| (format!("^{index}$"), json!(true))).collect();
        refused(json!({ "patternProperties": patterns }), "more than 32 patterns");
    }

    #[test]
    fn shortens_mismatch_with_long_value() {
        let error =
            city().check(&RawJson::from(json!({"city": vec!["x"; 100_000]}))).unwrap_err().to_string();
        assert!(error.starts_with("/city: ") && error.ends_with("is not of type \"string\""), "{error}");
        assert!(error.len() < 1_000);
    }
}
