//! Typed arguments: the schema the model sees, and the errors it reads.

use haft_sdk::testing::Harness;
use haft_sdk::{Extension, RawJson, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Where to look.
#[derive(Deserialize, JsonSchema)]
struct Search {
    /// The text to find.
    query: String,
    #[serde(default)]
    range: Option<Range>,
    #[serde(default)]
    tags: Vec<String>,
    order: Order,
    exact: Option<RawNumber>,
}

#[derive(Deserialize, JsonSchema)]
struct Range {
    from: u8,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    Newest,
    Oldest,
}

/// An argument that must not be converted to a float.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct RawNumber {
    #[schemars(with = "i64")]
    number: RawJson,
}

fn search() -> Extension {
    Extension::new("search", "1.0.0").tool("search", "Searches.", |args: Search, _| async move {
        let from = args.range.map_or(0, |range| range.from);
        let order = match args.order {
            Order::Newest => "newest",
            Order::Oldest => "oldest",
        };
        let exact = args.exact.map_or_else(String::new, |exact| exact.number.to_string());
        ToolResult::text(format!("{} {from} {order} {} {exact}", args.query, args.tags.len()))
    })
}

#[tokio::test]
async fn schema_is_one_inlined_object() {
    let harness = Harness::start(search()).await;
    let schema = harness.tools()[0].schema.clone().unwrap().read::<Value>().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema).unwrap(), @r#"
    {
      "type": "object",
      "properties": {
        "query": {
          "type": "string",
          "description": "The text to find."
        },
        "range": {
          "type": [
            "object",
            "null"
          ],
          "properties": {
            "from": {
              "type": "integer",
              "format": "uint8",
              "minimum": 0,
              "maximum": 255
            }
          },
          "required": [
            "from"
          ]
        },
        "tags": {
          "type": "array",
          "items": {
            "type": "string"
          },
          "default": []
        },
        "order": {
          "type": "string",
          "enum": [
            "newest",
            "oldest"
          ]
        },
        "exact": {
          "type": [
            "integer",
            "null"
          ],
          "format": "int64",
          "description": "An argument that must not be converted to a float."
        }
      },
      "required": [
        "query",
        "order"
      ]
    }
    "#);
}

#[tokio::test]
async fn arguments_that_fit_reach_the_handler() {
    let harness = Harness::start(search()).await;
    let result = harness.tool("search", json!({"query": "q", "order": "oldest"})).await;
    assert_eq!(result, ToolResult::text("q 0 oldest 0 "));
    let args = json!({"query": "q", "order": "newest", "range": {"from": 7}, "tags": ["a"], "exact": 9_007_199_254_740_993_i64});
    assert_eq!(harness.tool("search", args).await, ToolResult::text("q 7 newest 1 9007199254740993"));
}

#[tokio::test]
async fn error_names_the_field() {
    let harness = Harness::start(search()).await;
    for (args, expect) in [
        (json!({"order": "newest"}), "arguments do not fit: missing field `query`"),
        (
            json!({"query": 5, "order": "newest"}),
            r#"argument "query" does not fit: invalid type: integer `5`, expected a string"#,
        ),
        (
            json!({"query": "q", "order": "newest", "range": {"from": 300}}),
            r#"argument "range.from" does not fit: invalid value: integer `300`, expected u8"#,
        ),
        (
            json!({"query": "q", "order": "newest", "tags": ["a", 1]}),
            r#"argument "tags[1]" does not fit: invalid type: integer `1`, expected a string"#,
        ),
        (
            json!({"query": "q", "order": "random"}),
            r#"argument "order" does not fit: unknown variant `random`, expected `newest` or `oldest`"#,
        ),
    ] {
        assert_eq!(harness.tool("search", args).await, ToolResult::error(expect));
    }
}
