//! The hooks around a request to the model beyond its messages: model, options, tools and usage.

use std::sync::Arc;

use haft_core::hooks::{OutgoingRequest, ReceivedResponse, RequestDecision, RequestEdit, ResponseDecision};
use haft_core::model::{ModelId, RequestOptions, ThinkingLevel};
use haft_core::tool::{ToolOwner, ToolSpec};
use haft_host::Host;
use haft_packages::{ExtensionSpec, LaunchPlan, Permissions};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{AssistantBlock, Message, Rfc3339Time, StopCause, TokenUsage};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Events, brisk, config, fault, host_with, program, spec};

fn model() -> ModelId {
    ModelId { provider: "anthropic".into(), model: "claude".into() }
}

fn list_tool() -> ToolSpec {
    ToolSpec::new("ls", "Lists files.").with_schema(RawJson::parse(r#"{"type":"object"}"#).unwrap())
}

fn request() -> OutgoingRequest {
    let content = vec![ContentBlock::text("hi")];
    OutgoingRequest::new(2, model(), Arc::new(vec![Message::User { content, time: Rfc3339Time("T".into()) }]))
        .with_system("You are haft.")
        .with_tools(vec![Arc::new(list_tool())])
        .with_thinking(ThinkingLevel::High)
        .with_options(RequestOptions::default().with_max_tokens(4096))
}

/// Returns the edit of the first extension with this answer, and the question; `None` if it changes nothing.
async fn edit_request(host: &Host, peer: &mut FakePeer, answer: Value) -> (Option<RequestEdit>, Value) {
    let hook = host.hook_source().hooks().before_model_request.remove(0);
    let cancel = CancellationToken::new();
    let outgoing = request();
    let answering = async {
        let question = peer.expect("event_intercept").await;
        peer.answer(&question, "event_intercept_response", answer).await;
        question
    };
    let (decision, mut question) = tokio::join!(hook.before_model_request(&cancel, &outgoing), answering);
    question.as_object_mut().unwrap().remove("id");
    match decision {
        RequestDecision::Send => (None, question),
        RequestDecision::Edit(edit) => {
            assert_eq!(hook.name(), "router");
            (Some(edit), question)
        }
        RequestDecision::Refuse(refusal) => panic!("{refusal:?}"),
    }
}

fn subscribe() -> Value {
    json!({"type": "subscribe", "intercept": ["context", "message_end"]})
}

#[tokio::test(start_paused = true)]
async fn interceptor_sees_the_whole_request() {
    let (host, mut peer, events) = host_with("router", [subscribe()]).await;
    let (edit, question) = edit_request(&host, &mut peer, json!({})).await;
    assert_eq!(edit, None);
    assert_eq!(
        question,
        json!({
            "type": "event_intercept", "event": "context", "step": 2, "provider": "anthropic", "model": "claude",
            "thinking": "high", "options": {"max_tokens": 4096}, "system": "You are haft.",
            "tools": [{"name": "ls", "description": "Lists files.", "schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}], "time": "T"}],
        })
    );
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn interceptor_changes_each_part_of_a_request() {
    let (host, mut peer, events) = host_with("router", [subscribe()]).await;
    let none = RequestEdit::default;
    let schema = json!({"type": "object"});
    let added = ToolSpec::new("look", "Looks.")
        .with_schema(RawJson::from_value(&schema).unwrap())
        .with_owner(ToolOwner::Extension("router".into()));
    let tools = json!([
        {"name": "ls", "description": "Not this one.", "schema": schema},
        {"name": "look", "description": "Looks.", "schema": schema},
    ]);
    let options = Some(RequestOptions::default().with_temperature(0.5));
    for (answer, expect) in [
        (json!({"model": "openai/gpt"}), none().with_model("openai/gpt")),
        (json!({"thinking": "off"}), none().with_thinking(ThinkingLevel::Off)),
        (json!({"options": {"temperature": 0.5}}), none().with_options(options)),
        (json!({"tools": tools}), none().with_add_tools(vec![added])),
        (json!({"messages": []}), none().with_messages(Vec::new())),
    ] {
        let (edit, _) = edit_request(&host, &mut peer, answer.clone()).await;
        assert_eq!(edit, Some(expect), "{answer}");
    }
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn invalid_part_does_not_spoil_the_others() {
    let (host, mut peer, events) = host_with("router", [subscribe()]).await;
    let orphan = json!({"role": "tool", "call_id": "c1", "name": "ls", "content": [], "time": "T"});
    let tools = json!([
        {"name": "no name", "description": "", "schema": {}},
        {"name": "tag", "description": "a\u{e0041}", "schema": {}},
        {"name": "list", "description": "", "schema": {"type": "array"}},
    ]);
    let answer = json!({"messages": [orphan], "tools": tools, "thinking": "low"});
    let (edit, _) = edit_request(&host, &mut peer, answer).await;
    assert_eq!(edit, Some(RequestEdit::default().with_thinking(ThinkingLevel::Low)));
    insta::assert_snapshot!(events.messages().join("\n"), @r#"
    context intercept: the result of the call "c1" has no call before it; the messages were not changed
    context intercept: tool "no name": a name is a letter and then letters, digits, '_' or '-', at most 64 in all; the tool was not added
    context intercept: tool "tag": its texts have 1 invisible characters; the tool was not added
    context intercept: tool "list": its schema describes "array", but tool arguments are an "object"; the tool was not added
    "#);
    for wrong in [json!({"thinking": "much"}), json!({"options": [], "model": "m"}), json!({"tools": [{}]})] {
        assert_eq!(edit_request(&host, &mut peer, wrong.clone()).await.0, None, "{wrong}");
    }
    assert_eq!(events.faults(), vec![fault("router", "hook_error"); 7]);
}

/// Adds two tools to each request.
const SCRIPT: &str = r#"
import json, sys
def emit(obj):
    print(json.dumps(obj), flush=True)
emit({"type":"hello","name":"router","version":"1.0.0"})
emit({"type":"subscribe","intercept":["context"]})
emit({"type":"ready"})
for line in sys.stdin:
    msg = json.loads(line)
    if msg["type"] == "event_intercept":
        tools = [{"name":name,"description":msg["model"],"schema":{"type":"object"}} for name in ["look", "send"]]
        emit({"type":"event_intercept_response","id":msg["id"],"tools":tools})
    elif msg["type"] == "shutdown":
        emit({"type":"shutdown_ack"})
        break
"#;

/// Tools that a request gets need the same permission as registered ones.
#[tokio::test]
async fn process_adds_only_granted_tools() {
    let dir = tempfile::tempdir().unwrap();
    let permissions = json!({
        "tools": {"register": ["look"]}, "net": "none", "exec": "none",
        "intercept": [{"event": "context", "role": "rewrite"}],
    });
    let args = vec!["-c".to_owned(), SCRIPT.to_owned()];
    let script = LaunchPlan::Process { program: program(&["python3", "python"]), args };
    let permissions = Some(serde_json::from_value::<Permissions>(permissions).unwrap());
    let specs = vec![ExtensionSpec { permissions, ..spec("router", dir.path(), script) }];
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    let hook = host.hook_source().hooks().before_model_request.remove(0);
    let decision = hook.before_model_request(&CancellationToken::new(), &request()).await;
    let RequestDecision::Edit(edit) = decision else { panic!("{decision:?}") };
    let names: Vec<_> =
        edit.add_tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str())).collect();
    assert_eq!(names, [("look", "claude")]);
    host.shutdown().await;
    let expect = "context intercept: tool \"send\": the permission tools.register does not name it; the tool was not added";
    assert_eq!(events.only_message(), expect);
}

#[tokio::test(start_paused = true)]
async fn interceptor_sees_model_and_usage_of_an_answer() {
    let (host, mut peer, events) = host_with("router", [subscribe()]).await;
    let hook = host.hook_source().hooks().after_model_response.remove(0);
    let content = vec![AssistantBlock::Text { text: "Done.".into() }];
    let usage = TokenUsage::default().with_input(9).with_output(3).with_cost_usd(0.5);
    let response = ReceivedResponse::new(2, model(), content, StopCause::Length).with_usage(usage);
    let cancel = CancellationToken::new();
    let answering = async {
        let question = peer.expect("event_intercept").await;
        peer.answer(&question, "event_intercept_response", json!({})).await;
        question
    };
    let (decision, mut question) = tokio::join!(hook.after_model_response(&cancel, &response), answering);
    assert_eq!(decision, ResponseDecision::Keep);
    question.as_object_mut().unwrap().remove("id");
    assert_eq!(
        question,
        json!({
            "type": "event_intercept", "event": "message_end", "step": 2, "provider": "anthropic",
            "model": "claude", "content": [{"type": "text", "text": "Done."}], "stop": "length",
            "usage": {"input": 9, "output": 3, "cache_read": 0, "cache_write": 0, "cost_usd": 0.5},
        })
    );
    assert_eq!(events.faults(), []);
}
