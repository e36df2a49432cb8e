//! Answers of hooks that end the turn or are the result of a call: the capability `hooks_2`.

use std::sync::Arc;
use std::time::Duration;

use haft_core::hooks::{
    FinishedCall, OutgoingRequest, ReceivedResponse, Refusal, RequestDecision, ResponseDecision,
    ResultDecision, ToolDecision,
};
use haft_core::model::ModelId;
use haft_core::tool::{DisplayText, ToolOutput};
use haft_host::Host;
use haft_packages::LaunchPlan;
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{StopCause, TokenUsage};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Events, brisk, call, config, fault, gate, host_announcing, program, spec};

const HOOKS: [&str; 4] = ["tool_call", "tool_result", "context", "message_end"];

/// Returns a host with an extension for all hooks that can end a turn.
async fn host_with_hooks(capabilities: &[&str]) -> (Host, FakePeer, Events) {
    let subscribe = json!({"type": "subscribe", "intercept": HOOKS});
    host_announcing("ender", capabilities, [subscribe]).await
}

/// Returns the decision about a call of `bash` after this answer.
async fn decide_call(host: &Host, peer: &mut FakePeer, answer: Value) -> ToolDecision {
    let bash = call("bash", json!({"command": "ls"}));
    let (mut decided, ()) = tokio::join!(gate(host, &bash), answer_next(peer, answer));
    decided.remove(0)
}

async fn answer_next(peer: &mut FakePeer, answer: Value) {
    let question = peer.expect("event_intercept").await;
    peer.answer(&question, "event_intercept_response", answer).await;
}

/// Returns the refusals of the hooks around a request, its answer, and the result of a call.
async fn refusals(host: &Host, peer: &mut FakePeer, answer: &Value) -> Vec<Option<Refusal>> {
    let (hooks, cancel) = (host.hook_source().hooks(), CancellationToken::new());
    let model = || ModelId { provider: "p".into(), model: "m".into() };
    let request = OutgoingRequest::new(1, model(), Arc::new(Vec::new()));
    let asking = hooks.before_model_request[0].before_model_request(&cancel, &request);
    let (requested, ()) = tokio::join!(asking, answer_next(peer, answer.clone()));
    let (stop, usage) = (StopCause::End, TokenUsage::default());
    let response = ReceivedResponse::new(1, model(), Vec::new(), stop).with_usage(usage);
    let asking = hooks.after_model_response[0].after_model_response(&cancel, &response);
    let (received, ()) = tokio::join!(asking, answer_next(peer, answer.clone()));
    let finished = FinishedCall::new(call("bash", json!({})), Duration::ZERO);
    let asking = hooks.after_tool_execute[0].after_tool_execute(&cancel, &finished, ToolOutput::text("x"));
    let (finished, ()) = tokio::join!(asking, answer_next(peer, answer.clone()));
    vec![
        if let RequestDecision::Refuse(refusal) = requested { Some(refusal) } else { None },
        if let ResponseDecision::Refuse(refusal) = received { Some(refusal) } else { None },
        if let ResultDecision::Refuse(refusal) = finished { Some(refusal) } else { None },
    ]
}

#[tokio::test(start_paused = true)]
async fn stop_ends_the_turn_at_each_hook() {
    let (host, mut peer, events) = host_with_hooks(&["hooks_2"]).await;
    let spent = json!({"stop": "turn", "reason": "the budget is spent"});
    let ended = Refusal::for_turn("the budget is spent");
    assert_eq!(decide_call(&host, &mut peer, spent.clone()).await, ToolDecision::Refuse(ended.clone()));
    assert_eq!(refusals(&host, &mut peer, &spent).await, vec![Some(ended); 3]);
    let discarded = Refusal::for_discarded_turn("turn ended by extension ender");
    assert_eq!(refusals(&host, &mut peer, &json!({"stop": "discard"})).await, vec![Some(discarded); 3]);
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn without_the_capability_only_block_counts() {
    let (host, mut peer, events) = host_with_hooks(&[]).await;
    let stop = json!({"stop": "turn", "reason": "no", "content": [{"type": "text", "text": "x"}]});
    assert_eq!(decide_call(&host, &mut peer, stop).await, ToolDecision::Allow);
    let blocked = json!({"stop": 7, "block": true, "reason": "no"});
    let denied = ToolDecision::block("no");
    assert_eq!(decide_call(&host, &mut peer, blocked).await, denied);
    assert_eq!(refusals(&host, &mut peer, &json!({"stop": "turn"})).await, vec![None, None, None]);
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn content_is_the_result_of_the_call() {
    let (host, mut peer, events) = host_with_hooks(&["hooks_2"]).await;
    let content = json!([{"type": "text", "text": "a\u{e0041}.txt"}]);
    let answer = json!({
        "content": content, "details": {"cached": true}, "is_error": true, "display": "1 file", "handled": true,
    });
    let ToolDecision::Respond { output } = decide_call(&host, &mut peer, answer).await else { panic!() };
    assert_eq!((output.is_error, output.handled), (true, true));
    let display = DisplayText::new(ExtensionName::new("ender"), "1 file");
    assert_eq!(output.display, Some(display));
    assert_eq!(output.details, Some(RawJson::parse(r#"{"cached":true}"#).unwrap()));
    assert_eq!(output.content, [ContentBlock::text("a.txt\n[removed 1 invisible characters]")]);
    assert_eq!(events.faults(), [fault("ender", "hidden_text")]);
}

#[tokio::test(start_paused = true)]
async fn another_tool_is_called() {
    let (host, mut peer, events) = host_with_hooks(&["hooks_2"]).await;
    let redirect =
        |args: &str| ToolDecision::Rewrite { tool: Some("ls".into()), args: RawJson::parse(args).unwrap() };
    let same_args = decide_call(&host, &mut peer, json!({"modified_tool": "ls"})).await;
    assert_eq!(same_args, redirect(r#"{"command":"ls"}"#));
    let answer = json!({"block": true, "modified_tool": "ls", "modified_args": {"path": "."}});
    assert_eq!(decide_call(&host, &mut peer, answer).await, redirect(r#"{"path":"."}"#));
    let hook = &host.hook_source().hooks().before_tool_execute[0];
    assert!(hook.handles_unknown_tools(), "the hook may answer calls of tools that no one registered");
    assert_eq!(events.faults(), []);
    for wrong in [json!({"modified_tool": 7}), json!({"modified_tool": "x".repeat(65)})] {
        let decision = decide_call(&host, &mut peer, wrong.clone()).await;
        assert!(matches!(decision, ToolDecision::Refuse(_)), "{wrong} {decision:?}");
    }
    let (host, mut peer, _) = host_with_hooks(&[]).await;
    let unknown = json!({"modified_tool": "ls", "display": 7, "handled": true});
    assert_eq!(decide_call(&host, &mut peer, unknown).await, ToolDecision::Allow);
    let safe = json!({"modified_tool": "ls", "block": true, "reason": "no"});
    assert_eq!(decide_call(&host, &mut peer, safe).await, ToolDecision::block("no"));
    assert!(!host.hook_source().hooks().before_tool_execute[0].handles_unknown_tools());
}

#[tokio::test(start_paused = true)]
async fn invalid_stop_and_answer_of_a_gate_block() {
    let (host, mut peer, events) = host_with_hooks(&["hooks_2"]).await;
    let decision = decide_call(&host, &mut peer, json!({"stop": "run"})).await;
    assert!(matches!(decision, ToolDecision::Refuse(_)), "{decision:?}");
    assert!(events.only_message().contains("stop: unknown variant `run`"), "{:?}", events.messages());
    let subscribe = json!({"type": "subscribe", "intercept": [{"event": "tool_call", "role": "gate"}]});
    let (host, mut peer, events) = host_announcing("ender", &["hooks_2"], [subscribe]).await;
    let decision = decide_call(&host, &mut peer, json!({"content": []})).await;
    assert!(matches!(decision, ToolDecision::Refuse(_)), "{decision:?}");
    assert!(events.only_message().contains("sent content, but a gate can only allow or block"));
    let decision = decide_call(&host, &mut peer, json!({"modified_tool": "ls"})).await;
    assert!(matches!(decision, ToolDecision::Refuse(_)), "{decision:?}");
    assert!(events.messages()[1].contains("sent modified_tool, but a gate can only allow or block"));
    assert!(!host.hook_source().hooks().before_tool_execute[0].handles_unknown_tools());
}

const SCRIPT: &str = r#"
import json, sys
def emit(obj):
    print(json.dumps(obj), flush=True)
emit({"type":"hello","name":"cache","version":"1.0.0","capabilities":["hooks_2"]})
emit({"type":"subscribe","intercept":["tool_call"]})
emit({"type":"ready"})
for line in sys.stdin:
    msg = json.loads(line)
    if msg["type"] == "event_intercept":
        command = msg["tool_args"]["command"]
        answer = {"type":"event_intercept_response","id":msg["id"]}
        if command == "list":
            answer["modified_tool"] = "read"
        elif command == "exit":
            answer["stop"] = "turn"
        else:
            answer["content"] = [{"type":"text","text":"cached: " + command}]
        emit(answer)
    elif msg["type"] == "shutdown":
        emit({"type":"shutdown_ack"})
        break
"#;

#[tokio::test]
async fn process_answers_redirects_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let args = vec!["-c".to_owned(), SCRIPT.to_owned()];
    let script = LaunchPlan::Process { program: program(&["python3", "python"]), args };
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let specs = vec![spec("cache", dir.path(), script)];
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    let decisions = gate(&host, &call("bash", json!({"command": "ls"}))).await;
    let [ToolDecision::Respond { output }] = decisions.as_slice() else { panic!("{decisions:?}") };
    assert_eq!(output.content, [ContentBlock::text("cached: ls")]);
    let decisions = gate(&host, &call("bash", json!({"command": "list"}))).await;
    let [ToolDecision::Rewrite { tool, .. }] = decisions.as_slice() else { panic!("{decisions:?}") };
    assert_eq!(tool.as_deref(), Some("read"));
    let ended = Refusal::for_turn("turn ended by extension cache");
    assert_eq!(gate(&host, &call("bash", json!({"command": "exit"}))).await, [ToolDecision::Refuse(ended)]);
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}
