//! Gates, rewriters and observers of some tools: their subscriptions and calls.

use std::sync::{Arc, Mutex};

use haft_sdk::protocol::ids::ToolCallId;
use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{Extension, GateDecision, HostInfo, LifecycleEvent, RawJson, ToolCallDecision, ToolSelection};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// A gate for bash, a rewriter for two tools, and an observer of a third, with the observed calls.
fn extension() -> (Extension, Arc<Mutex<Vec<Value>>>) {
    let watched = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&watched);
    let extension = Extension::new("roles", "1.0.0")
        .gate("bash", |call, _| async move {
            match call.tool_args.as_str().contains("sudo") {
                true => GateDecision::block("not as root"),
                false => GateDecision::allow(),
            }
        })
        .rewrite(["read", "ls"], |_, _| async { ToolCallDecision::rewrite(json!({"path": "."})) })
        .on_tool_call("edit", move |event, _| {
            let log = Arc::clone(&log);
            async move { log.lock().unwrap().push(json!(event.tool_name)) }
        });
    (extension, watched)
}

fn call(tool: &str) -> LifecycleEvent {
    LifecycleEvent::tool_call(ToolCallId::new("t1"), tool.into(), RawJson::empty_object())
}

#[tokio::test]
async fn roles_are_sent_only_to_hosts_that_know_them() {
    let (extension, watched) = extension();
    let harness = Harness::start_with(extension, host_info()).await;
    let refused = harness.intercept_tool_call("bash", json!({"command": "sudo ls"})).await;
    assert_eq!(refused, ToolCallDecision::block("not as root"));
    assert_eq!(harness.intercept_tool_call("Bash", json!({})).await, ToolCallDecision::Allow);
    let rewritten = harness.intercept_tool_call("ls", json!({})).await;
    assert_eq!(rewritten, ToolCallDecision::rewrite(json!({"path": "."})));
    for tool in ["bash", "edit"] {
        harness.event(call(tool)).await;
    }
    assert_eq!(*watched.lock().unwrap(), [json!("edit")]);
    assert_snapshot!(harness.shutdown().await, @r#"
    ← {"type":"hello","name":"roles","version":"1.0.0","capabilities":["events","ping","event_gap","hooks_2","host_services","progress","calls","cancel"]}
    → {"type":"hello_ack","protocol_version":1,"zot_version":"0.0.0","haft_version":"0.0.0","provider":"scripted","model":"scripted","cwd":"/work","capabilities":["before_agent_start","tool_result","input","before_settle","context","message_end","before_provider_request","user_bash","before_switch","before_fork","before_tree","resources","approve","project_trust","panel_resize","intercept_roles","host_services","models","files","asks","shows","session","bus","status","command_completions","tools_2","cancel","progress","events_2","mirror","hooks_2","calls"]}
    ← {"type":"subscribe","events":[{"event":"tool_call","tools":["edit"]}],"intercept":[{"event":"tool_call","tools":["bash"],"role":"gate"},{"event":"tool_call","tools":["read","ls"],"role":"rewrite"}]}
    ← {"type":"ready"}
    → {"type":"event_intercept","id":"1","event":"tool_call","tool_id":"call-1","tool_name":"bash","tool_args":{"command":"sudo ls"}}
    ← {"type":"event_intercept_response","id":"1","block":true,"reason":"not as root"}
    → {"type":"event_intercept","id":"2","event":"tool_call","tool_id":"call-1","tool_name":"Bash","tool_args":{}}
    ← {"type":"event_intercept_response","id":"2","block":false}
    → {"type":"event_intercept","id":"3","event":"tool_call","tool_id":"call-1","tool_name":"ls","tool_args":{}}
    ← {"type":"event_intercept_response","id":"3","modified_args":{"path":"."}}
    → {"type":"event","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{}}
    → {"type":"event","event":"tool_call","tool_id":"t1","tool_name":"edit","tool_args":{}}
    → {"type":"shutdown"}
    ← {"type":"shutdown_ack"}
    "#);
}

#[tokio::test]
async fn older_host_gets_plain_names() {
    let (extension, watched) = extension();
    let old = HostInfo { capabilities: Vec::new(), haft_version: None, ..host_info() };
    let harness = Harness::start_with(extension, old).await;
    assert_eq!(harness.intercept_tool_call("weather", json!({})).await, ToolCallDecision::Allow);
    let refused = harness.intercept_tool_call("bash", json!({"command": "sudo ls"})).await;
    assert_eq!(refused, ToolCallDecision::block("not as root"));
    for tool in ["bash", "edit"] {
        harness.event(call(tool)).await;
    }
    assert_eq!(*watched.lock().unwrap(), [json!("edit")]);
    let transcript = harness.shutdown().await;
    let subscribed: Vec<&str> = transcript.lines().filter(|line| line.contains("subscribe")).collect();
    assert_eq!(
        subscribed,
        [r#"← {"type":"subscribe","events":["tool_call"],"intercept":["tool_call"]}"#],
        "{transcript}"
    );
}

#[tokio::test]
async fn failing_gate_reports_an_error() {
    let broken = Extension::new("roles", "1.0.0")
        .gate(ToolSelection::all(), |_, _| async { Err::<GateDecision, _>("no disk".to_owned()) });
    let harness = Harness::start(broken).await;
    assert_eq!(harness.intercept_tool_call("bash", json!({})).await, ToolCallDecision::block("no disk"));
    assert_eq!(harness.failures().await, ["no disk"]);
}
