//! Every field with every wrong type, generated from the schema: rejected with its name, never read
//! as a default.

use haft_protocol::codec::{DecodedFrame, FrameSet, decode};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{ExtensionFrame, HostFrame, InterceptHook, InterceptToolCall};
use serde_json::{Value, json};

use crate::fixtures;

/// One value of each JSON type, and numbers outside the range of typed fields.
fn values() -> [Value; 9] {
    [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(1e30),
        json!("~"),
        json!([]),
        json!({}),
        json!([[]]),
    ]
}

/// A change of one field: its path and the new value (`None` removes the field).
struct Fault {
    pointer: String,
    value: Option<Value>,
}

/// The schema of a frame, applied to its fixture.
struct Matrix {
    root: Value,
    faults: Vec<Fault>,
}

impl Matrix {
    fn of<F: schemars::JsonSchema>(frame: &Value) -> Vec<Fault> {
        let root = schemars::schema_for!(F).to_value();
        let schema = root.clone();
        let mut matrix = Self { root, faults: Vec::new() };
        matrix.walk(&schema, frame, "");
        matrix.faults
    }

    fn walk(&mut self, schema: &Value, value: &Value, pointer: &str) {
        for part in self.parts(schema, value) {
            // An alternative for an object says nothing about a value that is none.
            let fields = part["properties"].as_object().filter(|_| value.is_object());
            for (name, field) in fields.into_iter().flatten() {
                // Another `type` makes another frame, or a block that only a newer peer knows.
                if name != "type" {
                    let required =
                        part["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
                    self.field(field, &value[name], &format!("{pointer}/{name}"), required);
                }
            }
            if let (Some(items), Some(item)) = (part.get("items"), value.get(0)) {
                self.field(items, item, &format!("{pointer}/0"), false);
            }
        }
    }

    fn field(&mut self, schema: &Value, value: &Value, pointer: &str, required: bool) {
        let mut own = schema.clone();
        own["$defs"] = self.root["$defs"].clone();
        let valid = jsonschema::validator_for(&own).unwrap();
        // `null` is how some languages write an optional field that is not there. Elements have no such excuse.
        let element = pointer.ends_with("/0");
        let wrong = |value: &Value| !valid.is_valid(value) && (required || element || !value.is_null());
        self.faults.extend(
            values()
                .into_iter()
                .filter(wrong)
                .map(|value| Fault { pointer: pointer.to_owned(), value: Some(value) }),
        );
        if required {
            self.faults.push(Fault { pointer: pointer.to_owned(), value: None });
        }
        if !value.is_null() {
            self.walk(schema, value, pointer);
        }
    }

    /// Returns the schema itself, its references, and the alternatives whose constants fit the
    /// value.
    fn parts(&self, schema: &Value, value: &Value) -> Vec<Value> {
        let mut parts = vec![schema.clone()];
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
            parts.extend(self.parts(&self.root["$defs"][name], value));
        }
        for alternatives in [&schema["oneOf"], &schema["anyOf"]] {
            for alternative in alternatives.as_array().into_iter().flatten() {
                let fields = alternative["properties"].as_object().into_iter().flatten();
                if fields
                    .into_iter()
                    .all(|(name, field)| field.get("const").is_none_or(|it| *it == value[name]))
                {
                    parts.extend(self.parts(alternative, value));
                }
            }
        }
        parts
    }
}

fn apply(frame: &Value, fault: &Fault) -> Value {
    let mut frame = frame.clone();
    let (parent, name) = fault.pointer.rsplit_once('/').unwrap();
    match (frame.pointer_mut(parent).unwrap(), &fault.value) {
        (Value::Array(items), Some(value)) => items[0] = value.clone(),
        (Value::Object(fields), Some(value)) => drop(fields.insert(name.to_owned(), value.clone())),
        (Value::Object(fields), None) => drop(fields.shift_remove(name)),
        (other, _) => panic!("{} is in {other}", fault.pointer),
    }
    frame
}

/// True if readers accept the change although the schema rejects it.
fn lenient(kind: &str, fault: &Fault) -> bool {
    match (kind, fault.pointer.as_str()) {
        // An unknown level is a quiet note rather than a lost one.
        ("notify", "/level") => matches!(fault.value, None | Some(Value::String(_) | Value::Null)),
        // A color of a newer version is as good as none.
        ("set_status", "/styled/0/fg") => matches!(fault.value, Some(Value::String(_))),
        // A newer host may have further reasons; that the call failed is what counts.
        ("host_result", "/code") => matches!(fault.value, Some(Value::String(_))),
        // Left to `InterceptHook::read`, because a `block` beside it must still count; see the test below.
        ("event_intercept_response", "/modified_args") => true,
        // Left to `InterceptHook::read`: for other hooks, the field may be anything.
        ("event_intercept_response", pointer) => {
            let field = pointer.split('/').nth(1).unwrap_or_default();
            [
                "stop",
                "model",
                "thinking",
                "options",
                "tools",
                "display",
                "modified_tool",
                "skills",
                "templates",
                "trust",
                "remember",
            ]
            .contains(&field)
        }
        // Another version is a version, so that the answer to it can name both; see `Hello::other_version`.
        ("hello", "/protocol_version") => true,
        _ => false,
    }
}

/// Returns the number of tested faults.
#[track_caller]
fn check<F: FrameSet + schemars::JsonSchema + std::fmt::Debug>(lines: &str) -> usize {
    let mut tried = 0;
    for line in lines.lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        let kind = frame["type"].as_str().unwrap();
        for fault in Matrix::of::<F>(&frame).iter().filter(|fault| !lenient(kind, fault)) {
            // The fields of an event of `--json` are not part of the frame.
            if frame.get("session").is_some() && !["/event", "/session"].contains(&fault.pointer.as_str()) {
                continue;
            }
            let line = apply(&frame, fault).to_string();
            let field = fault.pointer.rsplit('/').find(|name| *name != "0").unwrap();
            match decode::<F>(line.as_bytes()) {
                Err(DecodeError::Malformed { kind: named, id, detail }) => {
                    assert_eq!(named, kind);
                    assert!(detail.contains(field), "{detail:?} does not name {field}: {line}");
                    let sent = frame["id"].as_str().filter(|_| fault.pointer != "/id");
                    assert_eq!(id.as_ref().map(|id| id.as_str()).filter(|id| *id != "~"), sent, "{line}");
                }
                outcome => panic!("{}: {outcome:?}: {line}", fault.pointer),
            }
            tried += 1;
        }
    }
    tried
}

#[test]
fn faults_in_host_frames_are_detected() {
    let tried = check::<HostFrame>(fixtures::HOST);
    assert!(tried > 250, "only {tried} faults");
}

#[test]
fn faults_in_extension_frames_are_detected() {
    let tried = check::<ExtensionFrame>(fixtures::EXTENSION);
    assert!(tried > 350, "only {tried} faults");
}

#[test]
fn modified_args_must_be_an_object() {
    for args in ["null", "[1]", "\"s\"", "5", "true"] {
        let read = |block: bool| {
            let line = format!(
                r#"{{"type":"event_intercept_response","id":"1","block":{block},"modified_args":{args}}}"#
            );
            match decode::<ExtensionFrame>(line.as_bytes()) {
                Ok(DecodedFrame::Known(ExtensionFrame::EventInterceptResponse(response))) => {
                    InterceptToolCall::read(*response)
                }
                outcome => panic!("{outcome:?}"),
            }
        };
        assert!(read(false).unwrap_err().to_string().contains("must be a JSON object"), "{args}");
        assert!(read(true).is_ok(), "a block counts whatever stands beside it: {args}");
    }
}
