//! Tools with further properties, their progress, and cancelled calls.

use std::time::Duration;

use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{Extension, GateDecision, Host, HostInfo, NoArgs, RawJson, ToolBuilder, ToolResult};
use serde_json::json;
use tokio::sync::mpsc;

fn with_tool(tool: ToolBuilder) -> Extension {
    Extension::new("lines", "1.0.0").add_tool(tool)
}

/// A tool that shows its progress, passes on its host, and returns its id.
fn slow(hosts: mpsc::UnboundedSender<Host>) -> ToolBuilder {
    ToolBuilder::new("slow", "Takes long.", move |_: NoArgs, host: Host| {
        let hosts = hosts.clone();
        async move {
            host.show_progress("5 %");
            host.show_progress_details(json!({"done": 5}));
            let id = host.tool_id().unwrap_or("none").to_owned();
            hosts.send(host).unwrap();
            ToolResult::text(id)
        }
    })
}

#[tokio::test]
async fn tool_registers_all_its_properties() {
    let bash = ToolBuilder::new_raw("bash", "Runs a command.", json!({"type": "object"}), |_, _| async {
        ToolResult::text("")
    });
    let bash = bash
        .with_guideline("Prefer `bash`.")
        .with_label("Shell")
        .with_snippet("Runs a command in a container.");
    let bash = bash.run_alone().with_timeout(Duration::from_secs(90)).replace_built_in();
    let endless =
        ToolBuilder::new("endless", "", |_: NoArgs, _| async { ToolResult::text("") }).without_timeout();
    let harness = Harness::start(with_tool(bash).add_tool(endless)).await;
    insta::assert_snapshot!(serde_json::to_string(&harness.tools()).unwrap(), @r#"[{"name":"bash","description":"Runs a command.","schema":{"type":"object"},"guidelines":["Prefer `bash`."],"label":"Shell","snippet":"Runs a command in a container.","exclusive":true,"timeout_ms":90000,"replaces":true},{"name":"endless","schema":{"type":"object","properties":{}},"timeout_ms":0}]"#);
}

#[tokio::test]
async fn result_has_details_and_can_end_the_run() {
    let count =
        |_: NoArgs, _| async { ToolResult::text("12 lines").with_details(json!({"lines": 12})).ending_run() };
    let harness = Harness::start(with_tool(ToolBuilder::new("count", "", count))).await;
    let result = harness.tool("count", json!({})).await;
    assert_eq!(result.json_details().map(RawJson::as_str), Some(r#"{"lines":12}"#));
    assert!(result.ends_run());
}

#[tokio::test]
async fn handler_shows_progress_until_it_answers() {
    let (kept, mut hosts) = mpsc::unbounded_channel();
    let harness = Harness::start(with_tool(slow(kept))).await;
    let opening = harness.transcript().len();
    let call = harness.start_tool("slow", json!({})).await;
    call.wait_for_progress("5 %").await;
    assert_eq!(call.result().await, ToolResult::text("call-1"));
    hosts.recv().await.unwrap().show_progress("too late");
    insta::assert_snapshot!(&harness.shutdown().await[opening + 1..], @r#"
    → {"type":"tool_call","id":"1","name":"slow","args":{},"tool_id":"call-1"}
    ← {"type":"progress","id":"1","content":[{"type":"text","text":"5 %"}]}
    ← {"type":"progress","id":"1","details":{"done":5}}
    ← {"type":"tool_result","id":"1","content":[{"type":"text","text":"call-1"}]}
    → {"type":"shutdown"}
    ← {"type":"shutdown_ack"}
    "#);
}

#[tokio::test]
async fn host_without_progress_gets_none() {
    let (kept, _hosts) = mpsc::unbounded_channel();
    let info = HostInfo { capabilities: Vec::new(), ..host_info() };
    let harness = Harness::start_with(with_tool(slow(kept)), info).await;
    harness.tool("slow", json!({})).await;
    assert!(!harness.transcript().contains("progress\",\"id"), "{}", harness.transcript());
}

#[tokio::test]
async fn handler_learns_that_its_call_was_cancelled() {
    let wait = |_: NoArgs, host: Host| async move {
        host.wait_until_cancelled().await;
        ToolResult::error(if host.is_cancelled() { "stopped" } else { "not stopped" })
    };
    let harness = Harness::start(with_tool(ToolBuilder::new("wait", "", wait))).await;
    let (one, other) =
        (harness.start_tool("wait", json!({})).await, harness.start_tool("wait", json!({})).await);
    other.cancel().await;
    assert_eq!(other.result().await, ToolResult::error("stopped"));
    one.cancel().await;
    assert_eq!(one.result().await, ToolResult::error("stopped"));
}

#[tokio::test]
async fn gate_has_no_progress() {
    let gate = |_, host: Host| async move {
        host.show_progress("asks");
        assert_eq!(host.tool_id(), None);
        GateDecision::allow()
    };
    let harness = Harness::start(Extension::new("guard", "1.0.0").gate("bash", gate)).await;
    harness.intercept_tool_call("bash", json!({})).await;
    assert_eq!(harness.failures().await, [""; 0]);
    assert!(!harness.transcript().contains("progress\",\"id"), "{}", harness.transcript());
}
