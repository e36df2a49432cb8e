//! Host calls of an extension.

use std::time::Duration;

use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{
    CompleteCall, CompletionMessage, Extension, Host, HostError, HostInfo, NoArgs, ToolCallDecision,
    ToolResult,
};
use serde_json::json;

fn extension() -> Extension {
    Extension::new("uses", "1.0.0")
        .tool("run", "", |_: NoArgs, host: Host| async move {
            let done = host.exec_within(Duration::from_secs(9), "make").await;
            ToolResult::text(format!("{done:?}"))
        })
        .tool("edit", "", |_: NoArgs, host: Host| async move {
            ToolResult::text(format!("{:?}", host.edit("a", "old", "new").await))
        })
        .tool("hurry", "", |_: NoArgs, host: Host| async move {
            let dropped = tokio::select! {
                biased;
                _ = host.read_from("a", 7) => false,
                () = std::future::ready(()) => true,
            };
            ToolResult::text(dropped.to_string())
        })
        .intercept_tool_call(|call, host: Host| async move {
            match (call.caller, host.read("policy").await) {
                (Some(caller), Ok(policy)) if policy.text == caller.as_str() => ToolCallDecision::allow(),
                _ => ToolCallDecision::block("not in the policy"),
            }
        })
}

#[tokio::test]
async fn results_and_failures_have_types() {
    let harness = Harness::start_served(extension(), |call, args| match call {
        "exec" if args == json!({"command": "make", "timeout": 9}) => Ok("made\n".to_owned()),
        "edit" => {
            let (permission, reason) = ("fs.write".to_owned(), "no".to_owned());
            Err(HostError::PermissionDenied { permission, reason })
        }
        other => panic!("{other} {args}"),
    })
    .await;
    let run = harness.tool("run", json!({})).await.joined_text();
    assert_eq!(
        run,
        r#"Ok(CommandOutput { output: "made\n", exit_code: 0, full_output: None, remarks: [] })"#
    );
    let edit = harness.tool("edit", json!({})).await.joined_text();
    assert_eq!(edit, r#"Err(PermissionDenied { permission: "fs.write", reason: "no" })"#);
}

#[tokio::test]
async fn dropped_call_is_cancelled() {
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.tool("hurry", json!({})).await, ToolResult::text("true"));
    let transcript = harness.shutdown().await;
    assert!(transcript.contains(r#"{"type":"host_call","id":"c1","call":"read""#), "{transcript}");
    assert!(transcript.contains(r#"{"type":"host_call_cancel","id":"c1"}"#), "{transcript}");
}

#[tokio::test]
async fn lock_that_arrives_after_its_caller_went_away_is_released() {
    let hurries = Extension::new("hurries", "1.0.0").tool("hurry", "", |_: NoArgs, host: Host| async move {
        let dropped = tokio::select! {
            biased;
            _ = host.lock_file("a") => false,
            () = std::future::ready(()) => true,
        };
        ToolResult::text(dropped.to_string())
    });
    let harness = Harness::start(hurries).await;
    assert_eq!(harness.tool("hurry", json!({})).await, ToolResult::text("true"));
    let granted =
        json!({"type": "host_result", "id": "c1", "value": {"lease": "lock-7", "lasts_ms": 60_000}});
    harness.send_line(&granted.to_string()).await;
    let transcript = harness.shutdown().await;
    let unlock = r#"{"type":"host_call","call":"unlock_file","args":{"lease":"lock-7"}}"#;
    assert!(transcript.contains(unlock), "{transcript}");
}

#[tokio::test]
async fn hook_handler_can_read_files_and_sees_the_caller() {
    let harness = Harness::start_served(extension(), |_, _| Ok("notes".to_owned())).await;
    let args = || json!({"command": "ls"});
    assert_eq!(harness.intercept_host_call("notes", "bash", args()).await, ToolCallDecision::allow());
    let refused = ToolCallDecision::block("not in the policy");
    assert_eq!(harness.intercept_host_call("other", "bash", args()).await, refused);
    assert_eq!(harness.intercept_tool_call("bash", args()).await, refused);
}

#[tokio::test]
async fn host_without_services_gets_no_calls() {
    let info = HostInfo { capabilities: Vec::new(), ..host_info() };
    let harness = Harness::start_with(extension(), info).await;
    let edit = harness.tool("edit", json!({})).await.joined_text();
    assert_eq!(edit, r#"Err(Unavailable { reason: "this host provides no services for extensions" })"#);
    assert!(!harness.transcript().contains("host_call\""));
}

#[tokio::test]
async fn tools_and_models_of_the_agent_have_results() {
    let extension = Extension::new("asks", "1.0.0")
        .tool("find", "", |_: NoArgs, host: Host| async move {
            let found = host.call_tool("grep", json!({"pattern": "TODO"})).await;
            ToolResult::text(found.map_or_else(|error| error.to_string(), |found| found.joined_text()))
        })
        .tool("name", "", |_: NoArgs, host: Host| async move {
            let messages = vec![CompletionMessage::from_user("Name this.")];
            let answer = host.ask_model(CompleteCall { messages, ..CompleteCall::default() }).await;
            ToolResult::text(answer.map_or_else(|error| error.to_string(), |answer| answer.text))
        });
    let harness = Harness::start_served(extension, |call, args| match call {
        "call_tool" if args == json!({"name": "grep", "args": {"pattern": "TODO"}}) => Ok("a.rs".to_owned()),
        "complete" if args["messages"][0]["content"] == "Name this." => Ok("bakery".to_owned()),
        _ => Err(HostError::Failed { reason: format!("{call} {args}") }),
    })
    .await;
    assert_eq!(harness.tool("find", json!({})).await, ToolResult::text("a.rs"));
    assert_eq!(harness.tool("name", json!({})).await, ToolResult::text("bakery"));
    harness.shutdown().await;
}
