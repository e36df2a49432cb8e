//! The descriptions of the tools for the model.

use haft_core::schema::SchemaValidator;
use haft_core::tool::{ToolConcurrency, ToolOwner};
use haft_tools::NAMES;
use serde_json::Value;

use crate::ground::Ground;

#[test]
fn every_tool_has_a_description() {
    let ground = Ground::new();
    for name in NAMES {
        let spec = ground.tool(name).spec();
        assert_eq!(spec.owner, ToolOwner::BuiltIn);
        assert!(spec.description.len() > 50);
        assert!(spec.guidelines.iter().all(|line| line.contains(name)), "{name}: {:?}", spec.guidelines);
        assert_eq!(spec.concurrency == ToolConcurrency::Exclusive, name == "bash", "{name}");
    }
}

#[test]
fn schemas_are_plain_and_describe_every_argument() {
    let ground = Ground::new();
    for name in NAMES {
        let spec = ground.tool(name).spec();
        let text = spec.schema.as_str();
        for keyword in ["$schema", "$ref", "$defs", "\"format\"", "\"title\""] {
            assert!(!text.contains(keyword), "{keyword} in {text}");
        }
        let schema: Value = spec.schema.read().unwrap();
        assert_eq!(schema["type"], "object");
        // The schema is not compiled again before the tool's first call.
        SchemaValidator::compile(&spec.schema).unwrap();
        for (argument, about) in schema["properties"].as_object().unwrap() {
            assert!(about["description"].is_string(), "{name}.{argument} has no description");
        }
    }
}

#[test]
fn descriptions_of_read_and_edit_name_their_arguments() {
    let ground = Ground::new();
    for (name, arguments) in
        [("read", &["path", "offset", "limit"][..]), ("edit", &["path", "edits", "old_text", "new_text"])]
    {
        let spec = ground.tool(name).spec();
        let words: Vec<_> =
            spec.description.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        for argument in arguments {
            assert!(words.contains(argument), "{argument} is not in: {}", spec.description);
            assert!(spec.schema.as_str().contains(&format!("\"{argument}\":")), "{argument} is no argument");
        }
    }
}

#[test]
fn schema_of_edit_describes_required_fields() {
    let schema: Value = Ground::new().tool("edit").spec().schema.read().unwrap();
    insta::assert_json_snapshot!(schema, @r#"
    {
      "type": "object",
      "properties": {
        "path": {
          "description": "File to change: relative to the working directory, absolute, or starting with ~",
          "type": "string"
        },
        "edits": {
          "description": "Replacements. Each old_text is searched in the original file, not in the result of the others; they must not overlap",
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "old_text": {
                "description": "Required. Text to replace, exactly as in the file with its whitespace. It must occur only once",
                "type": "string"
              },
              "new_text": {
                "description": "Required. New text; empty to delete",
                "type": "string"
              }
            }
          },
          "minItems": 1
        }
      },
      "required": [
        "path",
        "edits"
      ]
    }
    "#);
}

#[tokio::test]
async fn invalid_arguments_and_cancelled_calls_are_errors() {
    let ground = Ground::new();
    let text = ground.error("read", serde_json::json!({"offset": 1})).await;
    assert!(text.contains("invalid arguments for read") && text.contains("path"), "{text}");
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    for name in NAMES {
        let context = haft_core::tool::ToolContext::new(cancel.clone(), drop);
        let output = ground.call_with(context, name, serde_json::json!({})).await;
        assert!(output.is_error && output.content[0].as_text() == Some("cancelled"), "{name}: {output:?}");
    }
}
