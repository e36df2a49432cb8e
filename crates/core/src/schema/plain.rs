//! A fast check for schemas that consist of plain keywords and therefore compile.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use haft_protocol::RawJson;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// True if a schema describes an object, has only the most common keywords, and gives each a valid value. Such a schema
/// compiles: it has no references, patterns or branches.
pub fn is_plain_object(schema: &RawJson) -> bool {
    let schema = serde_json::from_str::<PlainSchema>(schema.as_str());
    schema.is_ok_and(|schema| matches!(schema.kind, None | Some(JsonType::Object)))
}

/// A schema of plain keywords. Deserialization fails for any other schema.
struct PlainSchema {
    kind: Option<JsonType>,
}

/// The value of `type`.
#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum JsonType {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
    String,
}

#[derive(PartialEq, serde::Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for PlainSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A derived implementation would also accept a list of the fields.
        deserializer.deserialize_map(PlainSchemaVisitor)
    }
}

struct PlainSchemaVisitor;

impl<'de> Visitor<'de> for PlainSchemaVisitor {
    type Value = PlainSchema;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a schema of plain keywords")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut keywords: A) -> Result<PlainSchema, A::Error> {
        let mut kind = None;
        while let Some(BorrowedText(keyword)) = keywords.next_key()? {
            match keyword.as_ref() {
                "type" => kind = Some(keywords.next_value()?),
                "description" | "title" => drop(keywords.next_value::<BorrowedText<'de>>()?),
                "properties" => drop(keywords.next_value::<BTreeMap<String, PlainSchema>>()?),
                "required" | "enum" => require_distinct(&keywords.next_value::<Vec<BorrowedText<'de>>>()?)?,
                "items" => _ = keywords.next_value::<PlainSchema>()?,
                "additionalProperties" => _ = keywords.next_value::<bool>()?,
                "minimum" | "maximum" => _ = keywords.next_value::<f64>()?,
                "minLength" | "maxLength" | "minItems" | "maxItems" => _ = keywords.next_value::<u64>()?,
                "default" => _ = keywords.next_value::<IgnoredAny>()?,
                other => return Err(A::Error::custom(format_args!("{other} is not plain"))),
            }
        }
        Ok(PlainSchema { kind })
    }
}

/// Fails unless there is at least one text and all texts are different.
fn require_distinct<E: Error>(texts: &[BorrowedText<'_>]) -> Result<(), E> {
    // A quadratic comparison is fast enough for the few texts of a plain schema.
    let is_few = (1..=64).contains(&texts.len());
    let is_new = |(at, text)| !texts.iter().take(at).any(|other| other == text);
    match is_few && texts.iter().enumerate().all(is_new) {
        true => Ok(()),
        false => Err(E::custom("texts that are not plain")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::schema::SchemaValidator;

    fn is_plain(schema: &Value) -> bool {
        is_plain_object(&RawJson::from(schema.clone()))
    }

    /// Returns each keyword with valid and invalid values.
    fn values() -> Vec<(&'static str, Vec<Value>)> {
        let any = || {
            vec![json!(null), json!(true), json!(-1), json!(0.5), json!(3), json!("x"), json!([]), json!({})]
        };
        let texts =
            || [any(), vec![json!(["a", "b"]), json!(["a", "a"]), json!([1]), json!([null])]].concat();
        let schemas = || {
            [any(), vec![json!({"type": "string"}), json!({"type": "text"}), json!({"$ref": "#/$defs/no"})]]
                .concat()
        };
        let named = schemas().into_iter().map(|schema| json!({"a": schema}));
        vec![
            (
                "type",
                [
                    any(),
                    ["array", "boolean", "integer", "null", "number", "object", "string"]
                        .map(Value::from)
                        .to_vec(),
                ]
                .concat(),
            ),
            ("description", any()),
            ("title", any()),
            ("properties", [any(), named.collect()].concat()),
            ("required", texts()),
            ("items", schemas()),
            ("additionalProperties", schemas()),
            ("enum", texts()),
            ("minimum", any()),
            ("maximum", any()),
            ("minLength", any()),
            ("maxLength", any()),
            ("minItems", any()),
            ("maxItems", any()),
            ("default", any()),
            ("pattern", any()),
            ("$ref", any()),
            ("unheard of", any()),
        ]
    }

    #[test]
    fn a_plain_schema_compiles() {
        let compiles = |schema: &Value| SchemaValidator::compile(&RawJson::from(schema.clone())).is_ok();
        let (mut plain, mut others) = (0, 0);
        for (keyword, values) in values() {
            for value in values {
                let schema = json!({keyword: value});
                for schema in [&schema, &json!({"properties": {"a": schema}}), &json!({"items": schema})] {
                    match is_plain(schema) {
                        true => plain += 1,
                        false => others += 1,
                    }
                    assert!(!is_plain(schema) || compiles(schema), "{schema}");
                }
            }
        }
        assert!(plain > 60 && others > 60, "{plain} and {others}");
    }

    #[test]
    fn unknown_keyword_or_invalid_value_is_not_plain() {
        for schema in [
            json!({"type": "text"}),
            json!({"type": "string"}),
            json!({"properties": {"a": []}}),
            json!({"properties": {"a": {"properties": 5}}}),
            json!({"required": ["a", "a"]}),
            json!({"items": [{"type": "string"}]}),
            json!({"$ref": "#/$defs/a"}),
            json!({"pattern": "("}),
        ] {
            assert!(!is_plain(&schema), "{schema}");
        }
    }

    #[test]
    fn a_usual_schema_is_plain() {
        let path = json!({"type": "string", "description": "where to look", "minLength": 1});
        let kind = json!({"type": "string", "enum": ["file", "directory"], "default": "file"});
        let properties = json!({"path": path, "kinds": {"type": "array", "items": kind, "maxItems": 3}});
        let schema = json!({"type": "object", "properties": properties, "required": ["path"], "additionalProperties": false});
        assert!(is_plain(&schema));
    }
}
