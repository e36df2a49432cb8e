//! Calls of an extension about the tools and models of the agent: `call_tool` and `complete`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use haft_core::Agent;
use haft_core::model::{Model, ModelError, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelStream};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_host::{ExtensionToolSource, Host, ServiceReach};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, Message, StopCause, TokenUsage};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Events, builder};

/// Answers a number of seconds after the request, or fails.
struct Teller;

#[async_trait]
impl Model for Teller {
    fn info(&self) -> ModelId {
        ModelId { provider: "scripted".into(), model: "demo".into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        assert!(request.tools.is_empty());
        let Some(Message::User { content, .. }) = request.messages.last() else { panic!("no question") };
        let text = haft_protocol::content::joined_text(content);
        if text == "sleep" {
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        let count = request.messages.len();
        let pieces = [request.system, text, format!("{count} {:?}", request.options.max_tokens)];
        let content = vec![AssistantBlock::Text { text: pieces.join(" ") }];
        let usage = TokenUsage::default().with_input(7);
        let done = ModelResponse::new(content, StopCause::End).with_usage(usage);
        let pieces = pieces.map(ModelEvent::Text).map(Ok);
        Ok(stream::iter(pieces).chain(stream::iter([Ok(ModelEvent::Done(done))])).boxed())
    }
}

/// Returns its arguments.
struct Look;

#[async_trait]
impl Tool for Look {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("look", "Looks."))
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        if call.args.as_str().contains("long") {
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        ToolOutput::text(format!("saw {}", call.args))
    }
}

/// A program without tools of its own for extensions.
struct NoTools;

impl ExtensionToolSource for NoTools {
    fn tools(&self, _: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String> {
        Ok(Vec::new())
    }
}

/// Returns a host with the extension `desk`, which is a gate, and the extension `guard`, and their agent.
async fn begun(capabilities: &[&str]) -> (Host, Agent, [FakePeer; 2], Events) {
    let events = Events::default();
    let (mut desk, reader, writer) = FakePeer::pair();
    let builder = builder(&events).services(Arc::new(NoTools)).streams("desk", reader, writer);
    let (mut guard, reader, writer) = FakePeer::pair();
    let start = builder.streams("guard", reader, writer).start();
    let gate = json!({"type": "subscribe", "intercept": ["tool_call"]});
    let greet = async {
        desk.send(json!({"type": "hello", "name": "desk", "capabilities": capabilities})).await;
        let ack = desk.expect("hello_ack").await;
        assert!(ack["capabilities"].as_array().unwrap().contains(&json!("models")));
        desk.send(gate.clone()).await;
        desk.send(json!({"type": "ready"})).await;
    };
    let (host, (), ()) = tokio::join!(start, greet, guard.greet("guard", [gate.clone()]));
    let agent = Agent::builder(Teller).tool(Look).hook_source(host.hook_source()).build().unwrap();
    host.serve(agent.tool_runner());
    (host, agent, [desk, guard], events)
}

async fn call(peer: &mut FakePeer, call: &str, args: Value) {
    peer.send(json!({"type": "host_call", "id": "c", "call": call, "args": args})).await;
}

#[tokio::test(start_paused = true)]
async fn tool_of_the_agent_runs_under_the_gates_of_others() {
    let (_host, agent, [mut desk, mut guard], events) = begun(&[]).await;
    call(&mut desk, "call_tool", json!({"name": "look", "args": {"at": "a"}})).await;
    let question = guard.expect("event_intercept").await;
    assert_eq!((&question["tool_name"], &question["tool_args"]), (&json!("look"), &json!({"at": "a"})));
    guard.answer(&question, "event_intercept_response", json!({"modified_args": {"at": "b"}})).await;
    let done = desk.expect("host_result").await;
    let content = json!([{"type": "text", "text": "saw {\"at\":\"b\"}"}]);
    assert_eq!(done, json!({"type": "host_result", "id": "c", "content": content}));
    assert!(agent.messages().is_empty());
    let told = events.all();
    assert!(matches!(&told[0], AgentEvent::HostCallStart { name, .. } if name == "look"), "{told:?}");
    call(&mut desk, "call_tool", json!({"name": "look", "args": {}})).await;
    let question = guard.expect("event_intercept").await;
    guard.answer(&question, "event_intercept_response", json!({"block": true, "reason": "no"})).await;
    let refused = desk.expect("host_result").await;
    assert_eq!((&refused["code"], &refused["by"]), (&json!("blocked"), &json!("guard")));
    call(&mut desk, "call_tool", json!({"name": "fly", "args": {}})).await;
    assert_eq!(desk.expect("host_result").await["code"], "not_found");
    // A tool that the model does not get now.
    agent.set_active_tools(Some(Vec::new()));
    call(&mut desk, "call_tool", json!({"name": "look", "args": {}})).await;
    assert_eq!(desk.expect("host_result").await["code"], "not_found");
}

#[tokio::test(start_paused = true)]
async fn extension_of_newer_zot_versions_calls_tools_in_its_own_words() {
    let (_host, _agent, [mut desk, mut guard], _events) = begun(&["call_tool"]).await;
    let request =
        |id: &str, args: Value| json!({"type": "call_tool", "id": id, "name": "look", "args": args});
    desk.send(request("1", json!({"at": "a"}))).await;
    let question = guard.expect("event_intercept").await;
    guard.answer(&question, "event_intercept_response", json!({})).await;
    let content = json!([{"type": "text", "text": "saw {\"at\":\"a\"}"}]);
    let seen =
        json!({"type": "tool_result", "id": "1", "name": "look", "content": content, "is_error": false});
    assert_eq!(desk.expect("tool_result").await, seen);
    // The request that the call serves is not open.
    let late = json!({"type": "call_tool", "id": "2", "name": "look", "parent_id": "gone"});
    desk.send(late).await;
    let refused = desk.expect("tool_result").await;
    assert_eq!((&refused["id"], &refused["is_error"]), (&json!("2"), &json!(true)));
    desk.send(request("3", json!({"long": true}))).await;
    let question = guard.expect("event_intercept").await;
    guard.answer(&question, "event_intercept_response", json!({})).await;
    desk.send(json!({"type": "call_tool_cancel", "id": "3"})).await;
    let cancelled = desk.expect("tool_result").await;
    assert_eq!((&cancelled["id"], &cancelled["is_error"]), (&json!("3"), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn tool_of_the_agent_has_a_time_limit() {
    let (_host, _agent, [mut desk, mut guard], _events) = begun(&[]).await;
    call(&mut desk, "call_tool", json!({"name": "look", "args": {"long": true}})).await;
    let question = guard.expect("event_intercept").await;
    guard.answer(&question, "event_intercept_response", json!({})).await;
    assert_eq!(desk.expect("host_result").await["code"], "timed_out");
}

#[tokio::test(start_paused = true)]
async fn model_answers_in_pieces_and_the_session_counts_the_usage() {
    let (_host, agent, [mut desk, _guard], events) = begun(&["progress"]).await;
    let messages = json!([
        {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]);
    let options = json!({"max_tokens": 9});
    call(&mut desk, "complete", json!({"system": "Be brief.", "messages": messages, "options": options}))
        .await;
    // The first piece comes at once, the others together.
    assert_eq!(
        desk.expect("progress").await,
        json!({"type": "progress", "id": "c", "value": {"text": "Be brief."}})
    );
    assert_eq!(desk.expect("progress").await["value"], json!({"text": "three3 Some(9)"}));
    let value = desk.expect("host_result").await["value"].take();
    assert_eq!(value["text"], "Be brief. three 3 Some(9)");
    assert_eq!((&value["model"], &value["stop"]), (&json!("scripted/demo"), &json!("end")));
    assert_eq!((value["usage"]["input"].as_u64(), agent.usage().input), (Some(7), 7));
    let told = events.all();
    assert!(matches!(told.as_slice(), [AgentEvent::Usage { .. }]), "{told:?}");
    // The usage stays with the session.
    assert_eq!((agent.reload(), agent.usage().input, agent.messages().len()), (Ok(()), 7, 0));
}

#[tokio::test(start_paused = true)]
async fn completion_without_progress_has_one_result_and_typed_failures() {
    let (_host, _agent, [mut desk, _guard], _events) = begun(&[]).await;
    let ask = |text: &str| json!([{"role": "user", "content": text}]);
    call(&mut desk, "complete", json!({"messages": ask("hi"), "model": "scripted/demo"})).await;
    assert_eq!(desk.next().await.unwrap()["value"]["text"], " hi 1 None");
    call(&mut desk, "complete", json!({"messages": ask("hi"), "model": "other"})).await;
    assert_eq!(desk.expect("host_result").await["code"], "model_not_found");
    call(&mut desk, "complete", json!({"messages": []})).await;
    assert_eq!(desk.expect("host_result").await["code"], "invalid_args");
    call(&mut desk, "complete", json!({"messages": ask("sleep")})).await;
    // The peer waits no longer than the call may take.
    tokio::time::sleep(Duration::from_secs(121)).await;
    assert_eq!(desk.expect("host_result").await["code"], "timed_out");
    call(&mut desk, "complete", json!({"messages": ask("sleep")})).await;
    desk.send(json!({"type": "host_call_cancel", "id": "c"})).await;
    assert_eq!(desk.expect("host_result").await["code"], "cancelled");
}
