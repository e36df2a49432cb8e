//! Registrations that the host would reject are rejected at the start, with a message for the
//! author.

use haft_sdk::{Extension, GateDecision, NoArgs, Response, ToolCallDecision, ToolResult};
use serde_json::json;

async fn check(extension: Extension, expect: &str) {
    let error = extension.serve_on(tokio::io::empty(), tokio::io::sink()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("registration is wrong: {expect}"));
}

fn named(name: &str) -> Extension {
    Extension::new(name, "1.0.0")
}

#[tokio::test]
async fn faults_are_named() {
    let noop = |_: String, _| async { Response::noop() };
    let tool = |_: NoArgs, _| async { ToolResult::text("") };
    let allow = |_, _| async { ToolCallDecision::Allow };
    let idle = |_, _| async {};
    check(named(""), "the extension has no name").await;
    check(named("x").command("a", "", noop).command("a", "", noop), "command \"a\" is registered twice")
        .await;
    check(named("x").tool("a", "", tool).tool("a", "", tool), "tool \"a\" is registered twice").await;
    check(named("x").panel("a", idle).panel("a", idle), "panel \"a\" is registered twice").await;
    let twice = named("x").intercept_tool_call(allow).intercept_tool_call(allow);
    check(twice, "intercept tool_call has two handlers").await;
    let gate = |_, _| async { GateDecision::Allow };
    let shared = named("x").gate(["ls", "bash"], gate).rewrite(["read", "Bash"], allow);
    check(shared, "calls of tool \"bash\" have two handlers").await;
    let shared = named("x").gate("bash", gate).intercept_tool_call(allow);
    check(shared, "calls of tool \"bash\" have two handlers").await;
    let bad = "command name \"/a\" must be 1 to 64 characters of A-Z a-z 0-9 _ -";
    check(named("x").command("/a", "", noop), bad).await;
    check(named("x").tool("1a", "", tool), "tool name \"1a\" must begin with a letter").await;
    let orphan = "guideline for tool \"a\": register the tool first";
    check(named("x").guideline("a", "Use a."), orphan).await;
    let number =
        named("x").raw_tool("a", "", json!({"type": "number"}), |_, _| async { ToolResult::text("") });
    check(number, "schema of tool \"a\" must describe an object: make its arguments a struct").await;
    let long = named("x").tool("a", "d".repeat(4097), tool);
    check(long, "description of tool \"a\" is longer than 4096 bytes").await;
    let advice =
        named("x").tool("a", "", tool).guideline("a", "x".repeat(4000)).guideline("a", "x".repeat(97));
    check(advice, "guidelines of tool \"a\" are longer than 4096 bytes").await;
    let many = (0..129).fold(named("x"), |extension, n| extension.tool(format!("t{n}"), "", tool));
    check(many, "129 tools; the host takes 128").await;
}
