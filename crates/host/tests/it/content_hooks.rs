//! Hooks that change what the model reads and writes, in memory and with a real process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_core::hooks::{
    BashDecision, FinishedCall, OutgoingRequest, ProviderRequest, ProviderRequestDecision, ReceivedResponse,
    RequestDecision, ResponseDecision, ResultDecision, SettleDecision, SettlingRun, UserBash, UserInput,
    UserInputDecision,
};
use haft_core::model::ModelId;
use haft_core::tool::{DisplayText, ToolFailureKind, ToolOutput};
use haft_host::Host;
use haft_packages::LaunchPlan;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, InputSource};
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{AssistantBlock, Message, Rfc3339Time, StopCause, TokenUsage};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Events, brisk, call, config, fault, host_with, program, spec};

fn subscribe_to(kinds: &[&str]) -> Value {
    json!({"type": "subscribe", "intercept": kinds})
}

/// Answers the hooks in the environment of a user, without an SDK.
const SCRIPT: &str = r#"
import json, sys
def emit(obj):
    print(json.dumps(obj), flush=True)
emit({"type":"hello","name":"script","version":"1.0.0"})
emit({"type":"subscribe","intercept":["tool_result","input","before_settle","context","message_end","before_provider_request","user_bash"]})
emit({"type":"ready"})
for line in sys.stdin:
    msg = json.loads(line)
    if msg["type"] == "event_intercept":
        answer = {"type":"event_intercept_response","id":msg["id"]}
        if msg["event"] == "tool_result":
            text = msg["content"][0]["text"].replace("SECRET", "[hidden]")
            answer["content"] = [{"type":"text","text":text}]
        elif msg["event"] == "input":
            answer["handled"] = msg["text"] == "ping"
            answer["text"] = msg["text"].replace("?quick", "Answer briefly:")
        elif msg["event"] == "before_settle" and msg["continued"] == 0:
            answer["go_on"] = "Test it."
        elif msg["event"] == "context":
            answer["messages"] = msg["messages"][-1:]
        elif msg["event"] == "message_end":
            answer["content"] = [{"type":"text","text":"[" + msg["content"][0]["text"] + "]"}]
        elif msg["event"] == "user_bash":
            answer["result"] = {"output": msg["command"] + " in " + msg["cwd"], "exit_code": 3}
        elif msg["event"] == "before_provider_request":
            answer["payload"] = dict(msg["payload"], tier=msg["provider"])
            answer["headers"] = {"x-team": "compilers"}
        emit(answer)
    elif msg["type"] == "shutdown":
        emit({"type":"shutdown_ack"})
        break
"#;

/// Returns a host with the script as a real process.
async fn host_with_script(dir: &Path) -> (Host, Events) {
    let args = vec!["-c".to_owned(), SCRIPT.to_owned()];
    let script = LaunchPlan::Process { program: program(&["python3", "python"]), args };
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let specs = vec![spec("script", dir, script)];
    (Host::builder(config).events(events.sink()).specs(specs).start().await, events)
}

/// Answers the next questions of the host, and returns them.
async fn answer_each(peer: &mut FakePeer, answers: Vec<Value>) -> Vec<Value> {
    let mut asked = Vec::new();
    for answer in answers {
        let question = peer.expect("event_intercept").await;
        peer.answer(&question, "event_intercept_response", answer).await;
        asked.push(question);
    }
    asked
}

/// Returns the result of `bash` after the extension reviewed it.
async fn review_result(host: &Host, output: ToolOutput) -> ToolOutput {
    let hook = host.hook_source().hooks().after_tool_execute.remove(0);
    let finished = FinishedCall::new(call("bash", json!({"command": "env"})), Duration::from_secs(1));
    match hook.after_tool_execute(&CancellationToken::new(), &finished, output).await {
        ResultDecision::Show(output) => output,
        ResultDecision::Refuse(refusal) => panic!("{refusal:?}"),
    }
}

fn shown(by: &str, text: &str) -> Option<DisplayText> {
    Some(DisplayText::new(ExtensionName::new(by), text))
}

fn failed_result() -> ToolOutput {
    let details = Some(RawJson::parse(r#"{"exit_code":1}"#).unwrap());
    let display = shown("bash", "a key");
    ToolOutput::failed(ToolFailureKind::NotFound, "KEY=SECRET")
        .with_details(details)
        .with_terminate(true)
        .with_display(display)
}

#[tokio::test(start_paused = true)]
async fn interceptor_changes_parts_of_a_result() {
    let (host, mut peer, events) = host_with("hush", [subscribe_to(&["tool_result"])]).await;
    let answers = vec![
        json!({}),
        json!({"content": [{"type": "text", "text": "KEY=\u{e0041}[hidden]"}]}),
        json!({"content": [{"type": "text", "text": "KEY=SECRET"}]}),
        json!({"content": [], "details": {"hidden": 1}}),
        json!({"details": {"exit_code": 0}, "is_error": false}),
        json!({"display": "1 key", "handled": true}),
        json!({"content": [{"type": "text", "text": "KEY=SECRET"}], "display": ""}),
    ];
    let count = answers.len();
    let asked = async {
        let mut outputs = Vec::new();
        for _ in 0..count {
            outputs.push(review_result(&host, failed_result()).await);
        }
        outputs
    };
    let (outputs, questions) = tokio::join!(asked, answer_each(&mut peer, answers));
    let mut question = questions[0].clone();
    question.as_object_mut().unwrap().remove("id");
    insta::assert_snapshot!(question.to_string(), @r#"{"type":"event_intercept","duration_ms":1000,"event":"tool_result","tool_id":"t1","tool_name":"bash","tool_args":{"command":"env"},"content":[{"type":"text","text":"KEY=SECRET"}],"details":{"exit_code":1},"is_error":true,"display":"a key"}"#);
    let own = failed_result();
    let details = |text| Some(RawJson::parse(text).unwrap());
    let content = |text: &str| vec![ContentBlock::text(text)];
    let hidden = content("KEY=[hidden]\n[removed 1 invisible characters]");
    let expect = [
        own.clone(),
        own.clone().with_content(hidden).with_details(None),
        own.clone(),
        own.clone()
            .with_content(content("(extension returned no content)"))
            .with_details(details(r#"{"hidden":1}"#)),
        own.clone().with_details(details(r#"{"exit_code":0}"#)).with_is_error(false).with_failure(None),
        own.clone().with_display(shown("hush", "1 key")).with_handled(true),
        own.with_display(None),
    ];
    assert_eq!(outputs, expect);
    assert_eq!(events.faults(), [fault("hush", "hidden_text")]);
}

#[tokio::test(start_paused = true)]
async fn result_stays_after_each_failure_of_interceptor() {
    for wrong in [
        json!({"content": "x"}),
        json!({"content": [], "error": "no disk"}),
        json!({"block": true}),
        json!({"details": [1]}),
    ] {
        let (host, mut peer, events) = host_with("hush", [subscribe_to(&["tool_result"])]).await;
        let answer = answer_each(&mut peer, vec![wrong.clone()]);
        let (output, _) = tokio::join!(review_result(&host, failed_result()), answer);
        assert_eq!(output, failed_result(), "{wrong}");
        assert_eq!(events.faults(), [fault("hush", "hook_error")], "{wrong}");
    }
    let (host, _peer, events) = host_with("hush", [subscribe_to(&["tool_result"])]).await;
    assert_eq!(review_result(&host, failed_result()).await, failed_result());
    assert_eq!(events.faults(), [fault("hush", "hook_timeout")]);
}

/// A long answer is allowed while the question is open, and a result keeps its length.
#[tokio::test(start_paused = true)]
async fn long_result_comes_back_whole() {
    let (host, mut peer, events) = host_with("hush", [subscribe_to(&["tool_result"])]).await;
    let long = "line\n".repeat(400_000);
    let own = ToolOutput::text(long.clone() + "SECRET");
    let answer = vec![json!({"content": [{"type": "text", "text": long.clone() + "[hidden]"}]})];
    let (output, _) = tokio::join!(review_result(&host, own), answer_each(&mut peer, answer));
    assert!(output.content == [ContentBlock::text(long.clone() + "[hidden]")]);
    assert_eq!(events.faults(), []);
    let endless = json!([{"type": "text", "text": "x".repeat(9 * 1024 * 1024)}]);
    let sending = async {
        let question = peer.expect("event_intercept").await;
        let line = json!({"type": "event_intercept_response", "id": question["id"], "content": endless});
        peer.send_as_far_as_read(format!("{line}\n").as_bytes()).await;
    };
    let (output, ()) = tokio::join!(review_result(&host, ToolOutput::text("short")), sending);
    assert_eq!(output, ToolOutput::text("short"));
    assert_eq!(events.faults(), [fault("hush", "frame_too_long")]);
}

fn typed_input(text: &str, images: Vec<Image>) -> UserInput {
    UserInput::new(text, InputSource::Interactive).with_images(images)
}

/// Returns the decision of the first extension about an input.
async fn review_input(host: &Host, input: &UserInput) -> UserInputDecision {
    let hook = host.hook_source().hooks().on_input.remove(0);
    hook.on_input(&CancellationToken::new(), input).await
}

#[tokio::test(start_paused = true)]
async fn interceptor_changes_and_handles_inputs() {
    let (host, mut peer, events) = host_with("quick", [subscribe_to(&["input"])]).await;
    let picture = Image { mime_type: "image/png".into(), data: "AAAA".to_owned().into() };
    let own = typed_input("?quick haft", vec![picture.clone()]);
    let answers = vec![
        json!({}),
        json!({"text": "Briefly: \u{e0041}haft"}),
        json!({"images": []}),
        json!({"text": "same image", "images": [picture]}),
        json!({"handled": true}),
    ];
    let count = answers.len();
    let asked = async {
        let mut decisions = Vec::new();
        for _ in 0..count {
            decisions.push(review_input(&host, &own).await);
        }
        decisions
    };
    let (decisions, questions) = tokio::join!(asked, answer_each(&mut peer, answers));
    let mut question = questions[0].clone();
    question.as_object_mut().unwrap().remove("id");
    insta::assert_snapshot!(question.to_string(), @r#"{"type":"event_intercept","source":"interactive","event":"input","text":"?quick haft","images":[{"mime_type":"image/png","data":"AAAA"}]}"#);
    let expect = [
        UserInputDecision::Keep,
        UserInputDecision::Change(typed_input("Briefly: haft", own.images.clone())),
        UserInputDecision::Change(typed_input("?quick haft", Vec::new())),
        UserInputDecision::Change(typed_input("same image", own.images.clone())),
        UserInputDecision::Handled,
    ];
    assert_eq!(decisions, expect);
    assert_eq!(events.faults(), [fault("quick", "hidden_text")]);
}

#[tokio::test(start_paused = true)]
async fn input_stays_after_each_failure_of_interceptor() {
    let unreadable = json!({"text": "x", "images": [{"mime_type": "image/png", "data": "AAAA"}]});
    for wrong in
        [unreadable, json!({"block": true}), json!({"text": 5}), json!({"handled": true, "error": "no"})]
    {
        let (host, mut peer, events) = host_with("quick", [subscribe_to(&["input"])]).await;
        let answer = answer_each(&mut peer, vec![wrong.clone()]);
        let own = typed_input("hi", Vec::new());
        let (decision, _) = tokio::join!(review_input(&host, &own), answer);
        assert_eq!(decision, UserInputDecision::Keep, "{wrong}");
        assert_eq!(events.faults(), [fault("quick", "hook_error")], "{wrong}");
    }
    let (host, _peer, events) = host_with("quick", [subscribe_to(&["input"])]).await;
    assert_eq!(review_input(&host, &typed_input("hi", Vec::new())).await, UserInputDecision::Keep);
    assert_eq!(events.faults(), [fault("quick", "hook_timeout")]);
}

/// Returns the decision of the first extension about the end of a run.
async fn settle_run(host: &Host, continued: u32) -> SettleDecision {
    let hook = host.hook_source().hooks().before_settle.remove(0);
    let run = SettlingRun::new("Done.", continued);
    hook.before_settle(&CancellationToken::new(), &run).await
}

#[tokio::test(start_paused = true)]
async fn interceptor_makes_the_run_go_on() {
    let (host, mut peer, events) = host_with("again", [subscribe_to(&["before_settle"])]).await;
    let answers = vec![
        json!({}),
        json!({"go_on": " "}),
        json!({"go_on": "Test\u{e0041} it."}),
        json!({"block": true}),
        json!({"go_on": "Test it.", "error": "no disk"}),
    ];
    let count = answers.len();
    let asked = async {
        let mut decisions = Vec::new();
        for _ in 0..count {
            decisions.push(settle_run(&host, 3).await);
        }
        decisions
    };
    let (decisions, questions) = tokio::join!(asked, answer_each(&mut peer, answers));
    assert_eq!((&questions[0]["text"], &questions[0]["continued"]), (&json!("Done."), &json!(3)));
    let go_on = SettleDecision::GoOn { text: "[from extension again]\nTest it.".into() };
    let settle = || SettleDecision::Settle;
    assert_eq!(decisions, [settle(), settle(), go_on, settle(), settle()]);
    let codes: Vec<_> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["hidden_text", "hook_error", "hook_error"]);
    assert_eq!(settle_run(&host, 0).await, SettleDecision::Settle, "a late answer lets the run end");
    assert_eq!(events.faults().len(), 4);
}

#[tokio::test]
async fn process_makes_the_run_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host_with_script(dir.path()).await;
    let go_on = SettleDecision::GoOn { text: "[from extension script]\nTest it.".into() };
    assert_eq!(settle_run(&host, 0).await, go_on);
    assert_eq!(settle_run(&host, 1).await, SettleDecision::Settle);
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}

fn user_message(text: &str) -> Message {
    let (content, time) = (vec![ContentBlock::text(text)], Rfc3339Time("T".into()));
    Message::User { content, time }
}

/// Returns the messages of a request as the first extension changed them; `None` if it did not.
async fn change_messages(host: &Host, messages: Vec<Message>) -> Option<Vec<Message>> {
    let hook = host.hook_source().hooks().before_model_request.remove(0);
    let request =
        OutgoingRequest::new(1, ModelId { provider: "p".into(), model: "m".into() }, Arc::new(messages));
    match hook.before_model_request(&CancellationToken::new(), &request).await {
        RequestDecision::Send => None,
        RequestDecision::Edit(edit) => edit.messages,
        RequestDecision::Refuse(refusal) => panic!("{refusal:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn interceptor_replaces_messages_of_one_request() {
    let (host, mut peer, events) = host_with("brief", [subscribe_to(&["context"])]).await;
    let message =
        |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}], "time": "T"});
    let orphan = json!({"role": "tool", "call_id": "c1", "name": "ls", "content": [], "time": "T"});
    let answers = vec![
        json!({}),
        json!({"messages": [message("one"), message("two")]}),
        json!({"messages": [message("one\u{e0041}!")]}),
        json!({"messages": [orphan]}),
        json!({"messages": [{"role": "developer", "content": [], "time": "T"}]}),
        json!({"messages": "none"}),
        json!({"messages": [], "error": "no disk"}),
    ];
    let count = answers.len();
    let asked = async {
        let mut changed = Vec::new();
        for _ in 0..count {
            changed.push(change_messages(&host, vec![user_message("one"), user_message("two")]).await);
        }
        changed
    };
    let (changed, questions) = tokio::join!(asked, answer_each(&mut peer, answers));
    assert_eq!(questions[0]["messages"], json!([message("one"), message("two")]));
    assert_eq!(changed, [None, None, Some(vec![user_message("one!")]), None, None, None, None]);
    let codes: Vec<_> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["hidden_text", "hook_error", "hook_error", "hook_error", "hook_error"]);
    assert_eq!(change_messages(&host, vec![user_message("one")]).await, None);
    assert_eq!(events.faults().last(), Some(&fault("brief", "hook_timeout")));
}

/// A conversation may be longer than the ordinary limit of a line.
#[tokio::test(start_paused = true)]
async fn long_conversation_is_replaced_and_endless_one_is_sent_unchanged() {
    let (host, mut peer, events) = host_with("brief", [subscribe_to(&["context"])]).await;
    let long = |million: usize, mark: &str| user_message(&("x".repeat(million * 1_000_000) + mark));
    let message = serde_json::to_value(long(3, "!")).unwrap();
    let answer = answer_each(&mut peer, vec![json!({"messages": [message]})]);
    let (changed, _) = tokio::join!(change_messages(&host, vec![long(3, "?")]), answer);
    assert!(changed == Some(vec![long(3, "!")]));
    assert_eq!(events.faults(), []);
    assert_eq!(change_messages(&host, vec![long(9, "?")]).await, None);
    assert_eq!(events.faults(), [fault("brief", "frame_too_long")]);
}

#[tokio::test]
async fn process_replaces_messages_of_a_request() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host_with_script(dir.path()).await;
    let changed = change_messages(&host, vec![user_message("one"), user_message("two")]).await;
    assert_eq!(changed, Some(vec![user_message("two")]));
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}

fn text_blocks(text: &str) -> Vec<AssistantBlock> {
    vec![AssistantBlock::Text { text: text.into() }]
}

/// Returns the blocks of an answer as the first extension changed them; `None` if it did not.
async fn change_answer(host: &Host, content: Vec<AssistantBlock>) -> Option<Vec<AssistantBlock>> {
    let hook = host.hook_source().hooks().after_model_response.remove(0);
    assert!(hook.suppresses_deltas(), "the user must not see what the hook removes");
    let model = ModelId { provider: "p".into(), model: "m".into() };
    let (stop, usage) = (StopCause::End, TokenUsage::default());
    let response = ReceivedResponse::new(1, model, content, stop).with_usage(usage);
    match hook.after_model_response(&CancellationToken::new(), &response).await {
        ResponseDecision::Keep => None,
        ResponseDecision::Edit { content } => Some(content),
        ResponseDecision::Refuse(refusal) => panic!("{refusal:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn interceptor_changes_an_answer() {
    let (host, mut peer, events) = host_with("hush", [subscribe_to(&["message_end"])]).await;
    let call = json!({"type": "tool_call", "id": "c1", "name": "ls", "args": []});
    let answers = vec![
        json!({}),
        json!({"content": [{"type": "text", "text": "a [hidden\u{e0041}]"}]}),
        json!({"content": []}),
        json!({"content": [call]}),
        json!({"content": [{"type": "video"}]}),
        json!({"block": true}),
    ];
    let count = answers.len();
    let asked = async {
        let mut changed = Vec::new();
        for _ in 0..count {
            changed.push(change_answer(&host, text_blocks("a SECRET")).await);
        }
        changed
    };
    let (changed, questions) = tokio::join!(asked, answer_each(&mut peer, answers));
    assert_eq!(questions[0]["content"], json!([{"type": "text", "text": "a SECRET"}]));
    assert_eq!(questions[0]["stop"], "end");
    assert_eq!(changed, [None, Some(text_blocks("a [hidden]")), None, None, None, None]);
    let codes: Vec<_> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["hidden_text", "hook_error", "hook_error", "hook_error", "hook_error"]);
    assert_eq!(change_answer(&host, text_blocks("a SECRET")).await, None);
    assert_eq!(events.faults().last(), Some(&fault("hush", "hook_timeout")));
}

#[tokio::test]
async fn process_changes_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host_with_script(dir.path()).await;
    assert_eq!(change_answer(&host, text_blocks("hi")).await, Some(text_blocks("[hi]")));
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn process_changes_an_input() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host_with_script(dir.path()).await;
    let changed = typed_input("Answer briefly: haft", Vec::new());
    let decision = review_input(&host, &typed_input("?quick haft", Vec::new())).await;
    assert_eq!(decision, UserInputDecision::Change(changed));
    assert_eq!(review_input(&host, &typed_input("ping", Vec::new())).await, UserInputDecision::Handled);
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}

#[tokio::test]
async fn process_changes_a_result() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host_with_script(dir.path()).await;
    assert_eq!(review_result(&host, ToolOutput::text("KEY=SECRET")).await, ToolOutput::text("KEY=[hidden]"));
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}

/// Returns the decision of the first extension about a request with this body.
async fn review_request(host: &Host, payload: &Value) -> ProviderRequestDecision {
    let hook = host.hook_source().hooks().before_provider_request.remove(0);
    let model = ModelId { provider: "p".into(), model: "m".into() };
    let request = ProviderRequest::new(model, payload.clone().into());
    hook.before_provider_request(&CancellationToken::new(), &request).await
}

fn changed_request(payload: Option<Value>, headers: &[(&str, &str)]) -> ProviderRequestDecision {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ProviderRequestDecision::Change { payload: payload.map(RawJson::from), headers: headers.collect() }
}

#[tokio::test(start_paused = true)]
async fn interceptor_changes_a_request_to_a_provider() {
    let (host, mut peer, events) = host_with("tier", [subscribe_to(&["before_provider_request"])]).await;
    let many: serde_json::Map<String, Value> = (0..33).map(|n| (format!("x-{n}"), json!("1"))).collect();
    let answers = vec![
        json!({}),
        json!({"payload": {"input": [], "n": 1.0}, "headers": {"x-team": "compilers"}}),
        json!({"headers": {"Authorization": "Bearer stolen"}}),
        json!({"headers": {"x-team": "a\r\nhost: evil"}}),
        json!({"headers": many}),
        json!({"payload": []}),
        json!({"headers": {"x-team": 5}}),
        json!({"payload": {}, "error": "no disk"}),
        json!({"block": true}),
    ];
    let count = answers.len();
    let asked = async {
        let mut decisions = Vec::new();
        for _ in 0..count {
            decisions.push(review_request(&host, &json!({"input": ["hi"]})).await);
        }
        decisions
    };
    let (decisions, questions) = tokio::join!(asked, answer_each(&mut peer, answers));
    let mut question = questions[0].clone();
    question.as_object_mut().unwrap().remove("id");
    let expect = json!({
        "type": "event_intercept", "event": "before_provider_request", "provider": "p", "model": "m",
        "payload": {"input": ["hi"]},
    });
    assert_eq!(question, expect);
    let changed = changed_request(Some(json!({"input": [], "n": 1.0})), &[("x-team", "compilers")]);
    assert_eq!(decisions[1], changed);
    let others = [&decisions[..1], &decisions[2..]].concat();
    assert_eq!(others, vec![ProviderRequestDecision::Send; count - 1]);
    let codes: Vec<_> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["hook_error"; 7]);
    assert_eq!(review_request(&host, &json!({})).await, ProviderRequestDecision::Send);
    assert_eq!(events.faults().last(), Some(&fault("tier", "hook_timeout")));
}

#[tokio::test]
async fn process_changes_a_request_to_a_provider() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host_with_script(dir.path()).await;
    let changed = review_request(&host, &json!({"input": []})).await;
    assert_eq!(changed, changed_request(Some(json!({"input": [], "tier": "p"})), &[("x-team", "compilers")]));
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}

/// Returns the decision of the first extension about a command of the person.
async fn review_command(host: &Host, command: &str) -> BashDecision {
    let hook = host.hook_source().hooks().on_user_bash.remove(0);
    let bash = UserBash::new(command.to_owned(), "/w").with_excluded(true);
    hook.on_user_bash(&CancellationToken::new(), &bash).await
}

fn blocked_command(reason: &str) -> BashDecision {
    BashDecision::Block { reason: reason.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn interceptor_decides_about_a_command_and_its_failure_blocks() {
    let (host, mut peer, events) = host_with("desk", [subscribe_to(&["user_bash"])]).await;
    let answers = vec![
        json!({}),
        json!({"command": "ls -1"}),
        json!({"result": {"output": "a\u{1b}[31m\u{e0041}b\n"}}),
        json!({"block": true, "reason": "frozen"}),
        json!({"block": true}),
        json!({"command": "ls\u{e0041}"}),
        json!({"command": ""}),
        json!({"result": "ok"}),
        json!({"error": "no disk"}),
    ];
    let count = answers.len();
    let asked = async {
        let mut decisions = Vec::new();
        for _ in 0..count {
            decisions.push(review_command(&host, "ls").await);
        }
        decisions
    };
    let (decisions, questions) = tokio::join!(asked, answer_each(&mut peer, answers));
    let mut question = questions[0].clone();
    question.as_object_mut().unwrap().remove("id");
    let expect = json!({
        "type": "event_intercept", "event": "user_bash", "command": "ls", "cwd": "/w", "excluded": true,
    });
    assert_eq!(question, expect);
    let expect = [
        BashDecision::Run,
        BashDecision::Rewrite { command: "ls -1".into() },
        BashDecision::Answer { output: "ab\n".into(), exit_code: None },
        blocked_command("frozen"),
        blocked_command("no reason given"),
        blocked_command("the new command has invisible characters"),
    ];
    assert_eq!(decisions[..6], expect);
    for decision in &decisions[6..] {
        let BashDecision::Block { reason } = decision else { panic!("{decision:?}") };
        assert!(reason.starts_with("blocked: extension desk, which must approve this, "), "{reason}");
    }
    let codes: Vec<_> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["hidden_text", "hook_error", "hook_error", "hook_error", "hook_error"]);
    assert!(matches!(review_command(&host, "ls").await, BashDecision::Block { .. }));
    assert_eq!(events.faults().last(), Some(&fault("desk", "hook_timeout")));
    drop(peer);
    assert!(matches!(review_command(&host, "ls").await, BashDecision::Block { .. }));
}

#[tokio::test]
async fn process_answers_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let (host, events) = host_with_script(dir.path()).await;
    let answer = BashDecision::Answer { output: "ls in /w".into(), exit_code: Some(3) };
    assert_eq!(review_command(&host, "ls").await, answer);
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}
