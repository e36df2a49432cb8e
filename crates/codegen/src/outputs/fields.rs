//! The fields of a frame, read from its schema.

use serde_json::Value;

/// One row of a field table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldRow {
    /// The name, after that of the enclosing object: `limits.max_line`.
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) meaning: String,
}

/// Returns the branches of a union, each with the value of its tag.
pub(super) fn union_branches<'a>(root: &'a Value, union: &'a Value, tag: &str) -> Vec<(String, &'a Value)> {
    let branches = resolve(root, union).get("oneOf").and_then(Value::as_array).into_iter().flatten();
    branches
        .map(|branch| (branch["properties"][tag]["const"].as_str().unwrap_or_default().to_owned(), branch))
        .collect()
}

/// Returns the description of a schema.
pub(super) fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// Returns every field of a branch except its tag, including members of nested objects.
pub(super) fn field_rows(root: &Value, branch: &Value) -> Vec<FieldRow> {
    let mut rows = Vec::new();
    collect_rows(root, resolve(root, branch), "", &mut rows);
    rows
}

/// Returns the schema that a `$ref` points to.
pub(super) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/"));
    name.map_or(schema, |name| &root["$defs"][name])
}

fn collect_rows(root: &Value, object: &Value, prefix: &str, rows: &mut Vec<FieldRow>) {
    let required: Vec<&str> =
        object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, schema) in object["properties"].as_object().into_iter().flatten() {
        let schema_without_null = without_null(schema);
        let name_in_frame = format!("{prefix}{name}");
        rows.push(FieldRow {
            name: name_in_frame.clone(),
            kind: kind(root, schema_without_null),
            required: required.contains(&name.as_str()),
            meaning: description(schema).to_owned(),
        });
        collect_rows(root, resolve(root, schema_without_null), &format!("{name_in_frame}."), rows);
    }
    rows.extend(variant_rows(root, object));
}

/// Returns the tag and the fields of a union that is flattened into a frame, for example `event` and its fields.
fn variant_rows(root: &Value, object: &Value) -> Vec<FieldRow> {
    let Some(tag) = object["oneOf"][0]["properties"].as_object().and_then(|fields| fields.keys().next())
    else {
        return Vec::new();
    };
    let branches = union_branches(root, object, tag);
    let names: Vec<String> = branches.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
    let meaning = "The kind. It determines the other fields.".to_owned();
    let mut rows = vec![FieldRow { name: tag.clone(), kind: names.join(" "), required: true, meaning }];
    for (name, branch) in &branches {
        for field in field_rows(root, branch) {
            rows.push(FieldRow { meaning: format!("`{name}`: {}", field.meaning), ..field });
        }
    }
    rows
}

/// Returns the schema of an optional field without its `null`.
fn without_null(schema: &Value) -> &Value {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    alternatives.into_iter().find(|alternative| alternative["type"] != "null").unwrap_or(schema)
}

fn kind(root: &Value, schema: &Value) -> String {
    let target = resolve(root, schema);
    let named = match &target["type"] {
        Value::String(name) => Some(name.as_str()),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    match named {
        Some("array") => {
            let items = kind(root, &target["items"]);
            let plural: Vec<_> = items.split(" or ").map(|kind| format!("{kind}s")).collect();
            format!("array of {}", plural.join(" or "))
        }
        Some(name) => name.to_owned(),
        None => match target["anyOf"].as_array() {
            Some(branches) => {
                branches.iter().map(|branch| kind(root, branch)).collect::<Vec<_>>().join(" or ")
            }
            None => union_kind(target),
        },
    }
}

fn union_kind(schema: &Value) -> String {
    let branches: Vec<&Value> = schema["oneOf"].as_array().into_iter().flatten().collect();
    let names: Vec<String> = branches
        .iter()
        .filter_map(|branch| branch["const"].as_str())
        .map(|name| format!("`\"{name}\"`"))
        .collect();
    match (branches.is_empty(), names.is_empty()) {
        (true, _) => "any".to_owned(),
        (false, true) => "object".to_owned(),
        (false, false) => names.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_nested_and_optional_fields() {
        let schema = json!({
            "properties": {
                "id": { "type": "string", "description": "Which." },
                "size": { "anyOf": [{ "$ref": "#/$defs/Size" }, { "type": "null" }] },
                "lines": { "type": ["array", "null"], "items": { "type": "string" } },
                "args": true,
            },
            "required": ["id"],
            "$defs": { "Size": { "type": "object", "properties": { "width": { "type": "integer" } }, "required": ["width"] } },
        });
        let rows: Vec<String> = field_rows(&schema, &schema)
            .iter()
            .map(|field| format!("{}:{}:{}:{}", field.name, field.kind, field.required, field.meaning))
            .collect();
        let expect = [
            "id:string:true:Which.",
            "size:object:false:",
            "size.width:integer:true:",
            "lines:array of strings:false:",
            "args:any:false:",
        ];
        assert_eq!(rows, expect);
    }

    #[test]
    fn flattened_union_shows_tag_and_branch_of_each_field() {
        let branch = |name: &str, field: &str| {
            json!({
                "properties": { "event": { "const": name } },
                "$ref": format!("#/$defs/{field}"),
            })
        };
        let holder = |field: &str| json!({ "type": "object", "properties": { field: { "type": "integer", "description": "It." } } });
        let schema = json!({
            "oneOf": [branch("start", "step"), branch("end", "stop")],
            "$defs": { "step": holder("step"), "stop": holder("stop") },
        });
        let rows: Vec<String> = field_rows(&schema, &schema)
            .iter()
            .map(|field| format!("{}:{}:{}", field.name, field.kind, field.meaning))
            .collect();
        let expect = [
            "event:`\"start\"` `\"end\"`:The kind. It determines the other fields.",
            "step:integer:`start`: It.",
            "stop:integer:`end`: It.",
        ];
        assert_eq!(rows, expect);
    }
}
