//! Questions of an extension to the person.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{
    AskCall, Extension, GateDecision, Host, HostInfo, InterceptToolCall, NoArgs, ToolResult, UiAnswer,
};
use serde_json::json;

fn extension() -> Extension {
    Extension::new("asks", "1.0.0")
        .tool("all", "", |_: NoArgs, host: Host| async move {
            let ui = host.ui().with_time_limit(Duration::from_secs(9));
            let confirmed = ui.confirm("Go?", "far").await.unwrap();
            let chosen = ui.select("Which?", ["a", "b"]).await.unwrap();
            let typed = host.ui().input("Name?").await.unwrap();
            let text = host.ui().editor("Text", "old").await.unwrap();
            ToolResult::text(format!("{confirmed} {chosen:?} {typed:?} {text:?}"))
        })
        .tool("invalid", "", |_: NoArgs, host: Host| async move {
            ToolResult::text(format!("{:?}", host.ui().select("Which?", [""; 0]).await))
        })
        .gate(["bash"], |call: InterceptToolCall, host: Host| async move {
            match host.ui().confirm("Run this command?", call.tool_args.to_string()).await {
                Ok(true) => GateDecision::allow(),
                Ok(false) => GateDecision::block("the user said no"),
                Err(error) => GateDecision::block(error.to_string()),
            }
        })
}

#[tokio::test]
async fn questions_have_typed_answers() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let harness = Harness::start_with_person(extension(), move |ask| {
        log.lock().unwrap().push(serde_json::to_string(ask).unwrap());
        match ask {
            AskCall::Confirm(_) => UiAnswer::Confirmed(true),
            AskCall::Select(_) => UiAnswer::Value("b".into()),
            AskCall::Input(_) => UiAnswer::Cancelled,
            AskCall::Editor(editor) => UiAnswer::Value(format!("{}!", editor.prefill.as_ref().unwrap())),
        }
    })
    .await;
    let all = harness.tool("all", json!({})).await;
    assert_eq!(all, ToolResult::text(r#"true Some("b") None Some("old!")"#));
    insta::assert_snapshot!(asked.lock().unwrap().join("\n"), @r#"
    {"call":"confirm","args":{"title":"Go?","message":"far","timeout_ms":9000}}
    {"call":"select","args":{"title":"Which?","options":["a","b"],"timeout_ms":9000}}
    {"call":"input","args":{"title":"Name?"}}
    {"call":"editor","args":{"title":"Text","prefill":"old"}}
    "#);
    let invalid = harness.tool("invalid", json!({})).await.joined_text();
    assert!(invalid.contains("options: must have at least one choice"), "{invalid}");
    let transcript = harness.shutdown().await;
    let under = transcript.lines().filter(|line| line.contains(r#","under":""#)).count();
    assert_eq!(under, 5, "{transcript}");
}

#[tokio::test]
async fn question_without_person_has_no_answer() {
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.tool("all", json!({})).await, ToolResult::text("false None None None"));
}

#[tokio::test]
async fn host_without_the_capability_is_unavailable() {
    let capabilities = vec!["intercept_roles".to_owned()];
    let harness = Harness::start_with(extension(), HostInfo { capabilities, ..host_info() }).await;
    let decision = harness.intercept_tool_call("bash", json!({"command": "ls"})).await;
    let text = format!("{decision:?}");
    assert!(text.contains("Block") && text.contains("does not support questions"), "{text}");
}
