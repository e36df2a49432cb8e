//! Tests of tools from functions: the schema, the arguments and the results.

use haft_core::schemars::{self, JsonSchema};
use haft_core::tool::{
    FunctionTool, IntoToolOutput, JsonOutput, Tool, ToolConcurrency, ToolOutput, function,
};
use haft_protocol::content::ContentBlock;
use serde_json::json;

use crate::fake::{Script, call, calls, run, says};

#[derive(serde::Deserialize, JsonSchema)]
struct Stock {
    /// The item to count.
    item: String,
    /// At most this many.
    #[serde(default)]
    most: Option<u8>,
}

fn stock() -> FunctionTool {
    function("stock", "Counts pieces.\nOf any item.", |Stock { item, most }, context| async move {
        context.progress(format!("counting {item}"));
        match item.as_str() {
            "teapots" => Ok(format!("{} left", most.unwrap_or(12))),
            _ => Err(std::fmt::Error),
        }
    })
}

#[test]
fn schema_comes_from_the_type_of_the_arguments() {
    let spec = stock().spec();
    let expect = json!({
        "type": "object",
        "properties": {
            "item": { "description": "The item to count.", "type": "string" },
            "most": {
                "description": "At most this many.",
                "type": ["integer", "null"],
                "format": "uint8",
                "minimum": 0,
                "maximum": 255,
                "default": null,
            },
        },
        "required": ["item"],
    });
    assert_eq!(spec.schema.read::<serde_json::Value>().unwrap(), expect);
    assert_eq!((spec.name.as_str(), spec.concurrency), ("stock", ToolConcurrency::Parallel));
    let edited = stock().run_alone().edit_spec(|spec| spec.label = Some("Stock".into())).spec();
    assert_eq!((edited.label.as_deref(), edited.concurrency), (Some("Stock"), ToolConcurrency::Exclusive));
}

#[tokio::test]
async fn function_gets_its_arguments_and_errors_reach_the_model() {
    let wanted = vec![
        call("t1", "stock", r#"{"item":"teapots","most":7}"#),
        call("t2", "stock", r#"{"item":"kettles"}"#),
        call("t3", "stock", r#"{"item":3}"#),
    ];
    let agent = Script::new(vec![calls(wanted), says("ok")]).agent().tool(stock()).build().unwrap();
    let (events, _) = run(&agent).await;
    let results: Vec<_> = events.iter().filter(|line| line.starts_with("result")).collect();
    assert_eq!(
        results,
        [
            "result t1 7 left",
            "result t2 error an error occurred when formatting an argument",
            r#"result t3 error stock was not run: /item: 3 is not of type "string""#,
        ]
    );
    assert!(events.iter().any(|line| line.contains("counting teapots")), "{events:?}");
}

#[test]
fn results_become_outputs() {
    #[track_caller]
    fn check(output: impl IntoToolOutput, expect: &ToolOutput) {
        assert_eq!(&output.into_tool_output(), expect);
    }
    check("a", &ToolOutput::text("a"));
    check((), &ToolOutput::text("done"));
    check(4_u32, &ToolOutput::text("4"));
    check(json!({ "n": 1 }), &ToolOutput::text(r#"{"n":1}"#));
    check(JsonOutput(Some("a")), &ToolOutput::text(r#""a""#));
    check(Err::<(), _>("no"), &ToolOutput::error("no"));
    check(Ok::<_, String>(ToolOutput::error("both")), &ToolOutput::error("both"));
    check(vec![ContentBlock::text("a")], &ToolOutput::text("a"));
    let unwritable = JsonOutput(std::collections::HashMap::from([((1, 2), 3)])).into_tool_output();
    assert!(unwritable.is_error, "{unwritable:?}");
}
