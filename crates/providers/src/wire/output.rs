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

/// The keywords of OpenAI's strict mode.
const STRICT: [&str; 21] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "type",
];

/// Keywords that do not limit a value, and that strict mode rejects or ignores.
const REMARKS: [&str; 8] =
    ["$comment", "$schema", "default", "deprecated", "examples", "readOnly", "title", "writeOnly"];

/// A schema that an API accepts.
#[derive(Debug)]
pub(super) struct AcceptedSchema {
    pub(super) schema: RawJson,
    /// True if no object may have fields that the schema does not name, as Anthropic demands.
    pub(super) is_closed: bool,
}

impl AcceptedSchema {
    /// Closes all objects, drops the formats that no API knows, and writes `oneOf` as `anyOf`.
    pub(super) fn new(schema: &RawJson) -> Self {
        Self::rewrite_schema(schema, &[])
    }

    /// The same, and drops the limits of values.
    pub(super) fn without_limits(schema: &RawJson) -> Self {
        Self::rewrite_schema(schema, &LIMITS)
    }

    fn rewrite_schema(schema: &RawJson, dropped: &[&str]) -> Self {
        let Ok(mut value) = schema.read::<Value>() else {
            return Self { schema: schema.clone(), is_closed: false };
        };
        let mut is_closed = true;
        visit_objects(&mut value, &mut |fields| {
            fields.retain(|name, value| !dropped.contains(&name.as_str()) && !is_unknown_format(name, value));
            use_known_forms(fields);
            if has_type(fields, "object") || fields.contains_key("properties") {
                is_closed &= close_object(fields);
            }
        });
        Self { schema: value.into(), is_closed }
    }
}

/// A schema for OpenAI.
#[derive(Debug)]
pub(super) struct OpenAiSchema {
    pub(super) schema: RawJson,
    /// True if the schema has the form of strict mode, which guarantees answers that fit it.
    pub(super) is_strict: bool,
}

impl OpenAiSchema {
    pub(super) fn new(schema: &RawJson) -> Self {
        let AcceptedSchema { schema, is_closed } = AcceptedSchema::new(schema);
        let mut strict = schema.read::<Value>().ok().filter(|_| is_closed);
        match strict.take_if(|value| value.get("anyOf").is_none() && make_strict(value)) {
            Some(strict) => Self { schema: strict.into(), is_strict: true },
            None => Self { schema, is_strict: false },
        }
    }
}

/// Drops the remarks of a schema; returns false if strict mode does not accept the rest.
fn make_strict(schema: &mut Value) -> bool {
    let Value::Object(fields) = schema else { return false };
    fields.retain(|name, _| !REMARKS.contains(&name.as_str()));
    fields.keys().all(|name| STRICT.contains(&name.as_str()))
        && has_strict_form(fields)
        && fields.iter_mut().all(|(name, value)| make_inner_strict(name, value))
}

/// Does the same with the schemas in a keyword.
fn make_inner_strict(name: &str, value: &mut Value) -> bool {
    match (name, value) {
        ("properties" | "$defs" | "definitions", Value::Object(named)) => named.values_mut().all(make_strict),
        ("anyOf", Value::Array(alternatives)) => alternatives.iter_mut().all(make_strict),
        ("items", items) => make_strict(items),
        _ => true,
    }
}

/// True if a schema is a reference, a list of alternatives, some constants, or of a type that it describes in full.
fn has_strict_form(fields: &Map<String, Value>) -> bool {
    let is_alone = |keyword: &str| {
        let others = [keyword, "description", "$defs", "definitions"];
        fields.keys().all(|name| others.contains(&name.as_str()))
    };
    if let Some(target) = fields.get("$ref") {
        return is_alone("$ref") && target.as_str().is_some_and(is_definition);
    }
    if fields.contains_key("anyOf") {
        return is_alone("anyOf");
    }
    let is_typed = ["type", "const", "enum"].iter().any(|keyword| fields.contains_key(*keyword));
    let has_fields = fields.contains_key("properties") && requires_all(fields);
    is_typed
        && (!has_type(fields, "object") || has_fields)
        && (!has_type(fields, "array") || fields.contains_key("items"))
}

/// True for the whole schema and for a definition. Other paths may lead through keywords that have another form.
fn is_definition(target: &str) -> bool {
    let name = target.strip_prefix("#/$defs/").or_else(|| target.strip_prefix("#/definitions/"));
    target == "#" || name.is_some_and(|name| !name.contains('/'))
}

/// Replaces `oneOf`, and a reference with a description: some APIs reject them.
fn use_known_forms(fields: &mut Map<String, Value>) {
    if !fields.contains_key("anyOf")
        && let Some(alternatives) = fields.remove("oneOf")
    {
        fields.insert("anyOf".to_owned(), alternatives);
    }
    if fields.contains_key("$ref") {
        fields.retain(|name, _| name != "description" && !REMARKS.contains(&name.as_str()));
    }
}

fn is_unknown_format(name: &str, value: &Value) -> bool {
    name == "format" && value.as_str().is_some_and(|format| !FORMATS.contains(&format))
}

fn has_type(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == name),
        Some(one) => one == name,
        None => false,
    }
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

    fn raw_json(text: &str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[track_caller]
    fn check(schema: &str, expect: &str, closed: bool) {
        let accepted = AcceptedSchema::without_limits(&raw_json(schema));
        assert!(accepted.schema.same_value(&raw_json(expect)), "{} is not {expect}", accepted.schema);
        assert_eq!(accepted.is_closed, closed, "{schema}");
    }

    #[track_caller]
    fn check_openai(schema: &str, expect: &str, strict: bool) {
        let accepted = OpenAiSchema::new(&raw_json(schema));
        assert!(accepted.schema.same_value(&raw_json(expect)), "{} is not {expect}", accepted.schema);
        assert_eq!(accepted.is_strict, strict, "{schema}");
    }

    /// Returns the schema of an object with the field `a`, as it is after closing.
    fn with_field(schema: &str) -> String {
        format!(
            r#"{{"type":"object","properties":{{"a":{schema}}},"required":["a"],"additionalProperties":false}}"#
        )
    }

    #[test]
    fn closes_objects_at_every_depth() {
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":"object","properties":{}}}}"##,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":"object","properties":{},"additionalProperties":false}},"additionalProperties":false}"##,
            true,
        );
        check(
            r#"{"type":"array","items":{"anyOf":[{"properties":{}},{"type":"null"}]}}"#,
            r#"{"type":"array","items":{"anyOf":[{"properties":{},"additionalProperties":false},{"type":"null"}]}}"#,
            true,
        );
    }

    #[test]
    fn open_objects_are_not_closed() {
        for open in [
            r#"{"type":"object"}"#,
            r#"{"type":["object","null"]}"#,
            r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
        ] {
            check(open, open, false);
            check_openai(open, open, false);
        }
    }

    #[test]
    fn drops_limits_but_not_fields_with_their_names() {
        check(
            r#"{"type":"object","properties":{"pattern":{"type":"integer","format":"uint32","minimum":0},"day":{"type":"string","format":"date"}},"required":["day","pattern"]}"#,
            r#"{"type":"object","properties":{"pattern":{"type":"integer"},"day":{"type":"string","format":"date"}},"required":["day","pattern"],"additionalProperties":false}"#,
            true,
        );
    }

    #[test]
    fn alternatives_and_references_have_known_forms() {
        let check_strict =
            |schema: &str, expect: &str| check_openai(&with_field(schema), &with_field(expect), true);
        check_strict(
            r#"{"title":"A","description":"d","oneOf":[{"type":"string","const":"x","description":"d"},{"type":"null"}]}"#,
            r#"{"description":"d","anyOf":[{"type":"string","const":"x","description":"d"},{"type":"null"}]}"#,
        );
        check_strict(r##"{"description":"d","$ref":"#"}"##, r##"{"$ref":"#"}"##);
        check_strict(
            r#"{"type":"array","items":{"oneOf":[{"type":"null"}]}}"#,
            r#"{"type":"array","items":{"anyOf":[{"type":"null"}]}}"#,
        );
        check(
            &with_field(r##"{"oneOf":[{"description":"d","$ref":"#"}]}"##),
            &with_field(r##"{"anyOf":[{"$ref":"#"}]}"##),
            true,
        );
        let limited = r#"{"type":["string","null"],"pattern":"^x"}"#;
        check_strict(limited, limited);
    }

    #[test]
    fn other_schemas_are_not_strict() {
        for schema in [
            "true",
            "{}",
            r#"{"type":"string","minLength":1}"#,
            r#"{"type":"array"}"#,
            r#"{"type":"array","items":{"type":"string"},"uniqueItems":true}"#,
            r#"{"type":"array","prefixItems":[{"type":"string"}]}"#,
            r#"{"allOf":[{"type":"string"}]}"#,
            r#"{"type":"string","not":{"const":"x"}}"#,
            r#"{"type":"object","properties":{},"patternProperties":{},"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"b":{"type":"null"}},"additionalProperties":false}"#,
            r#"{"type":"string","anyOf":[{"minLength":1}]}"#,
            r#"{"anyOf":[{"type":"string"}],"oneOf":[{"type":"string"}]}"#,
            r##"{"$ref":"#/properties/a"}"##,
            r##"{"$ref":"#","minimum":1}"##,
        ] {
            check_openai(&with_field(schema), &with_field(schema), false);
        }
        let flattened =
            r#"{"type":"object","properties":{},"anyOf":[{"type":"null"}],"additionalProperties":false}"#;
        check_openai(flattened, flattened, false);
    }

    /// The schemas that `schemars` derives from types with documentation.
    #[test]
    fn documented_types_are_strict() {
        use haft_core::model::OutputSchema;

        /// A kind of a place.
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        enum Kind {
            /// Many people.
            City,
            /// Few people.
            Village,
        }
        #[derive(schemars::JsonSchema)]
        #[serde(tag = "form")]
        #[expect(dead_code, reason = "only its schema is used")]
        enum Area {
            Circle { radius: f64 },
            Box { width: f64 },
        }
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Place {
            /// The kind.
            kind: Kind,
            area: Area,
            /// The places inside.
            inner: Vec<Place>,
            /// The center.
            center: Point,
        }
        /// A point.
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Point {
            x: f64,
        }
        let output = OutputSchema::for_type::<Place>().unwrap();
        let OpenAiSchema { schema, is_strict } = OpenAiSchema::new(output.json_schema());
        assert!(is_strict, "{schema}");
        for rejected in ["oneOf", "double", r#""title""#] {
            assert!(!schema.as_str().contains(rejected), "{rejected}: {schema}");
        }
        for kept in ["Many people.", "The center.", "The places inside."] {
            assert!(schema.as_str().contains(kept), "{kept}: {schema}");
        }
    }
}
