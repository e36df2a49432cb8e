//! Validates tool arguments against the tool's JSON Schema.
//!
//! The validator is our own: the library `jsonschema` brought 46 of this crate's 93 dependencies, was one of the slowest
//! to build, and cannot limit its work, so that schema and arguments had to be walked a second time before each check.
//!
//! It checks the keywords of draft 2020-12, and those of drafts 4, 6 and 7 that have another form there: a list in
//! `items` with `additionalItems`, `dependencies`, `definitions`, and flags in `exclusiveMinimum` and
//! `exclusiveMaximum`. `$dynamicRef` and `$recursiveRef` are refused. `format` and unknown keywords are annotations.
//! Patterns have the syntax of the crate `regex`, with `\d` and `\w` for ASCII.

mod definition;
mod pointer;
mod validation;
mod value;

use std::fmt;

use haft_protocol::RawJson;
use haft_protocol::defense::{Defense, is_up};
use serde_json::{Map, Value};

use definition::{PatternTable, check_definition};
use validation::find_faults;

/// The maximum bytes of an error description, which may quote the arguments.
const MAX_FAULT: usize = 400;

/// A checked schema. It never fetches anything: a `$ref` is a path inside the schema. Patterns run in linear time, and
/// a check takes a bounded number of steps for any schema.
pub struct SchemaValidator {
    schema: Value,
    patterns: PatternTable,
}

impl SchemaValidator {
    /// Checks a schema and compiles its patterns.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema is not an object, is not valid, refers to something outside itself, or is too
    /// complex for any arguments.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaError> {
        let schema: Value = schema.read().map_err(|error| SchemaError(error.to_string()))?;
        if !schema.is_object() {
            return Err(SchemaError("a tool's schema must be a JSON object".to_owned()));
        }
        let patterns = check_definition(&schema).map_err(SchemaError)?;
        if is_up(Defense::SchemaWork) {
            let nothing = Value::Object(Map::new());
            find_faults(&schema, &patterns, &nothing).map_err(|error| SchemaError(error.to_string()))?;
        }
        Ok(Self { schema, patterns })
    }

    /// Compiles a schema as [`compile`](Self::compile) does, if it describes an object.
    pub(crate) fn compile_object(schema: &RawJson) -> Result<Self, SchemaError> {
        let compiled = Self::compile(schema)?;
        compiled.check_type()?;
        Ok(compiled)
    }

    /// Checks that the schema describes an object, as providers demand of arguments and of answers.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema has another type, or none.
    pub(crate) fn check_type(&self) -> Result<(), SchemaError> {
        let found = match self.schema.get("type") {
            Some(kind) if kind == "object" => return Ok(()),
            Some(kind) => format!(r#""type" is {kind}"#),
            None => r#""type" is missing"#.to_owned(),
        };
        let advice = match self.schema.get("type") {
            // A list of types, or a type that is written elsewhere.
            Some(Value::Array(_)) | None => r#"write `"type": "object"` at the top of the schema"#,
            Some(_) => r#"describe an object that has the value as a property, and write `"type": "object"`"#,
        };
        Err(SchemaError(format!("{found}, but providers accept only objects; {advice}")))
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
        let faults = find_faults(&self.schema, &self.patterns, &value)
            .map_err(|error| ArgsError(format!("arguments cannot be checked: {error}")))?;
        if faults.is_empty() || !is_up(Defense::ArgumentSchema) {
            return Ok(());
        }
        Err(ArgsError(faults.join("; ")))
    }
}

fn text_excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Returns both ends of a long text: the path is at the beginning, the error at the end.
fn shorten_fault(text: String) -> String {
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

    use super::definition::MAX_PATTERNS;
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
        // Every byte of a text could visit all states of this pattern.
        let large = compiled(json!({"properties": {"a": {"pattern": "(a|b)*a(a|b){1500}c"}}})).unwrap();
        large.check(&RawJson::from(json!({"a": format!("a{}c", "b".repeat(1_500))}))).unwrap();
        let error = large.check(&RawJson::from(json!({"a": "ab".repeat(20_000)}))).unwrap_err();
        assert!(error.to_string().contains("steps"), "{error}");
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
