//! Schemas of answers, in the subsets of JSON Schema that the APIs accept. haft checks answers against the whole schema.

use haft_protocol::RawJson;
use serde_json::{Map, Value};

/// The values of `format` that the APIs know. Others, such as `uint32`, make them reject the schema.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The keywords that limit a value, which some APIs reject.
const LIMITS: [&str; 11] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
];

/// Keywords whose value is a schema, or a list of schemas.
const SCHEMAS: [&str; 7] = ["items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "additionalProperties"];

/// Keywords whose value maps names to schemas.
const SCHEMA_MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// A schema that an API accepts.
#[derive(Debug)]
pub(super) struct AcceptedSchema {
    pub(super) schema: RawJson,
    /// True if no object may have fields that the schema does not name, as Anthropic demands.
    pub(super) is_closed: bool,
    /// True if, in addition, every object has all its fields, as OpenAI's strict mode demands.
    pub(super) is_strict: bool,
}

impl AcceptedSchema {
    /// Closes all objects, and drops the formats that no API knows.
    pub(super) fn new(schema: &RawJson) -> Self {
        Self::rewrite_schema(schema, &[])
    }

    /// The same, and drops the limits of values.
    pub(super) fn without_limits(schema: &RawJson) -> Self {
        Self::rewrite_schema(schema, &LIMITS)
    }

    fn rewrite_schema(schema: &RawJson, dropped: &[&str]) -> Self {
        let Ok(mut value) = schema.read::<Value>() else {
            return Self { schema: schema.clone(), is_closed: false, is_strict: false };
        };
        let (mut is_closed, mut has_all_fields) = (true, true);
        visit_objects(&mut value, &mut |fields| {
            fields.retain(|name, value| !dropped.contains(&name.as_str()) && !is_unknown_format(name, value));
            if is_object(fields) {
                is_closed &= close_object(fields);
                has_all_fields &= requires_all(fields);
            }
        });
        Self { schema: value.into(), is_closed, is_strict: is_closed && has_all_fields }
    }
}

fn is_unknown_format(name: &str, value: &Value) -> bool {
    name == "format" && value.as_str().is_some_and(|format| !FORMATS.contains(&format))
}

fn is_object(fields: &Map<String, Value>) -> bool {
    fields.get("type").and_then(Value::as_str) == Some("object") || fields.contains_key("properties")
}

/// Excludes other fields from an object with named ones; returns true if no others are left.
fn close_object(fields: &mut Map<String, Value>) -> bool {
    if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    fields.get("additionalProperties") == Some(&Value::Bool(false))
}

fn requires_all(fields: &Map<String, Value>) -> bool {
    let required = fields.get("required").and_then(Value::as_array);
    let is_required = |name: &String| {
        required.is_some_and(|required| required.iter().any(|other| other.as_str() == Some(name)))
    };
    fields.get("properties").and_then(Value::as_object).is_none_or(|named| named.keys().all(is_required))
}

/// Visits the fields of a schema and of all schemas inside of it.
fn visit_objects(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    visit(fields);
    for (name, value) in fields {
        if SCHEMA_MAPS.contains(&name.as_str()) {
            let named = value.as_object_mut().into_iter().flat_map(Map::values_mut);
            named.for_each(|schema| visit_objects(schema, visit));
        } else if SCHEMAS.contains(&name.as_str()) {
            match value.as_array_mut() {
                Some(schemas) => schemas.iter_mut().for_each(|schema| visit_objects(schema, visit)),
                None => visit_objects(value, visit),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expect: &str, (closed, strict): (bool, bool)) {
        let accepted = AcceptedSchema::without_limits(&RawJson::parse(schema).unwrap());
        let expect = RawJson::parse(expect).unwrap();
        assert!(accepted.schema.same_value(&expect), "{} is not {expect}", accepted.schema);
        assert_eq!((accepted.is_closed, accepted.is_strict), (closed, strict), "{schema}");
    }

    #[test]
    fn closes_objects_at_every_depth() {
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":"object","properties":{}}}}"##,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":"object","properties":{},"additionalProperties":false}},"additionalProperties":false}"##,
            (true, true),
        );
        check(
            r#"{"type":"array","items":{"anyOf":[{"properties":{}},{"type":"null"}]}}"#,
            r#"{"type":"array","items":{"anyOf":[{"properties":{},"additionalProperties":false},{"type":"null"}]}}"#,
            (true, true),
        );
    }

    #[test]
    fn optional_and_open_fields_are_not_strict() {
        let closed = r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#;
        check(r#"{"type":"object","properties":{"a":{}}}"#, closed, (true, false));
        let open = r#"{"type":"object"}"#;
        check(open, open, (false, false));
        let map = r#"{"type":"object","additionalProperties":{"type":"string"}}"#;
        check(map, map, (false, false));
    }

    #[test]
    fn drops_limits_but_not_fields_with_their_names() {
        check(
            r#"{"type":"object","properties":{"pattern":{"type":"integer","format":"uint32","minimum":0},"day":{"type":"string","format":"date"}},"required":["day","pattern"]}"#,
            r#"{"type":"object","properties":{"pattern":{"type":"integer"},"day":{"type":"string","format":"date"}},"required":["day","pattern"],"additionalProperties":false}"#,
            (true, true),
        );
    }
}
