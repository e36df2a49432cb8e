//! Tests of the scripted model.

use futures::StreamExt;
use haft_core::model::{Model, ModelErrorKind, ModelEvent, wrap_invalid_args};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{AssistantBlock, Message, StopCause};
use haft_providers::ScriptedModel;
use insta::assert_snapshot;
use tokio_util::sync::CancellationToken;

use crate::support::{gather, request, result, start, user};

/// A model calls two tools, one of which a gate refuses, and quotes the results.
const DEMO: &str = r#"{
  "model": "demo",
  "steps": [
    {"when": {"last_role": "user"}, "chunk": 6, "usage": {"input": 10, "output": 5},
     "say": [{"thinking": "I need the weather."}, {"text": "Let me look."},
             {"call": {"name": "weather", "args": {"city": "Zürich", "n": 9007199254740993}}}]},
    {"when": {"last_role": "tool", "contains": "sunny"},
     "say": [{"call": {"name": "bash", "args": {"command": "rm -rf /"}}}]},
    {"when": {"contains": "refused"}, "say": [{"call": {"name": "bash", "args": {"command": "echo ok"}}}]},
    {"say": [{"text": "Weather: {{last_tool_result:weather}}. Then: {{last_tool_result}}. {{nothing}}"}]}
  ]
}"#;

async fn answer(model: &ScriptedModel, messages: &[Message]) -> String {
    match gather(start(model, messages.to_vec()).await).await {
        (_, Ok(response)) => {
            let blocks: Vec<_> = response.content.iter().map(|block| format!("{block:?}")).collect();
            format!("{}\n{:?}", blocks.join("\n"), response.stop)
        }
        (_, Err(error)) => format!("{error:?}"),
    }
}

#[tokio::test]
async fn the_demo_plays_to_its_end() {
    let model = ScriptedModel::from_json(DEMO).unwrap();
    assert_eq!((model.info().provider.as_str(), model.info().model.as_str()), ("scripted", "demo"));
    let mut messages = vec![user("What is the weather?")];
    assert_snapshot!(answer(&model, &messages).await, @r#"
    Thinking { text: "I need the weather." }
    Text { text: "Let me look." }
    ToolCall(ToolCall { id: ToolCallId("call_1"), name: "weather", args: {"city":"Zürich","n":9007199254740993} })
    ToolUse
    "#);
    messages.push(result("call_1", "weather", vec![ContentBlock::text("sunny")]));
    assert_snapshot!(answer(&model, &messages).await, @r#"
    ToolCall(ToolCall { id: ToolCallId("call_2"), name: "bash", args: {"command":"rm -rf /"} })
    ToolUse
    "#);
    messages.push(result("call_2", "bash", vec![ContentBlock::text("refused by guard")]));
    assert_snapshot!(answer(&model, &messages).await, @r#"
    ToolCall(ToolCall { id: ToolCallId("call_3"), name: "bash", args: {"command":"echo ok"} })
    ToolUse
    "#);
    messages.push(result("call_3", "bash", vec![ContentBlock::text("ok {{last_tool_result}}")]));
    assert_snapshot!(answer(&model, &messages).await, @r#"
    Text { text: "Weather: sunny. Then: ok {{last_tool_result}}. {{nothing}}" }
    End
    "#);
    let again = model.stream(CancellationToken::new(), request(messages)).await.err().unwrap();
    assert_eq!(again.kind, ModelErrorKind::Rejected);
    assert_eq!(again.message, "the script has no step for this message (0 unused steps do not match)");
}

#[tokio::test]
async fn deltas_have_the_asked_size_and_join_to_the_whole() {
    let model = ScriptedModel::from_json(DEMO).unwrap();
    let (events, answer) = gather(start(&model, vec![user("hi")]).await).await;
    assert_eq!(answer.unwrap().usage.input, 10);
    let thinking: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Thinking(delta) => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(thinking, ["I need", " the w", "eather", "."]);
    let args: String = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCallArgs { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(args, r#"{"city":"Zürich","n":9007199254740993}"#);
}

#[tokio::test]
async fn steps_repeat_only_when_they_may() {
    let script = r#"{"steps": [{"repeat": true, "when": {"contains": "ping"}, "say": [{"text": "pong"}]},
                               {"say": [{"text": "once"}]}]}"#;
    let model = ScriptedModel::from_json(script).unwrap();
    for _ in 0..3 {
        assert!(answer(&model, &[user("ping")]).await.contains("pong"));
    }
    assert!(answer(&model, &[user("other")]).await.contains("once"));
    assert!(model.stream(CancellationToken::new(), request(vec![user("other")])).await.is_err());
}

#[tokio::test]
async fn failures_and_stops_are_as_written() {
    let script = r#"{"steps": [
        {"say": [{"text": "I was"}], "error": {"kind": "connection", "message": "the wire was cut"}},
        {"say": [{"text": "too long"}], "stop": "length"},
        {"say": [{"call": {"name": "bash", "args_text": "{\"command\":"}}]}]}"#;
    let model = ScriptedModel::from_json(script).unwrap();
    let (events, failed) = gather(start(&model, vec![user("hi")]).await).await;
    assert_eq!(events, [ModelEvent::Text("I was".into())]);
    assert_eq!(failed.unwrap_err().kind, ModelErrorKind::Connection);
    assert_eq!(gather(start(&model, vec![user("hi")]).await).await.1.unwrap().stop, StopCause::Length);
    let broken = gather(start(&model, vec![user("hi")]).await).await.1.unwrap();
    let [AssistantBlock::ToolCall(call)] = broken.content.as_slice() else { panic!("{broken:?}") };
    assert_eq!(call.args, wrap_invalid_args("{\"command\":"));
    assert_ne!(call.args, RawJson::empty_object());
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_slow_answer() {
    let script = r#"{"steps": [{"say": [{"text": "slowly"}], "chunk": 1, "pause_ms": 1000}]}"#;
    let model = ScriptedModel::from_json(script).unwrap();
    let cancel = CancellationToken::new();
    let mut stream = model.stream(cancel.clone(), request(vec![user("hi")])).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Text("s".into()))));
    cancel.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap_err().kind, ModelErrorKind::Cancelled);
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn cancellation_after_completion_has_no_effect() {
    let script = r#"{"steps": [{"say": [{"text": "hi"}]}]}"#;
    let model = ScriptedModel::from_json(script).unwrap();
    let cancel = CancellationToken::new();
    let mut stream = model.stream(cancel.clone(), request(vec![user("hi")])).await.unwrap();
    stream.next().await.unwrap().unwrap();
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Done(_)))));
    cancel.cancel();
    assert!(stream.next().await.is_none());
}

#[test]
fn errors_name_the_step() {
    let said = |script: &str| ScriptedModel::from_json(script).unwrap_err().to_string();
    assert_snapshot!(said("{"), @"the script is not valid: the JSON ends too early");
    assert_snapshot!(said("{}"), @"the script is not valid: missing field `steps`, in line 1, column 2");
    assert_snapshot!(said(r#"{"steps":[{"say":[{"text":"a"}]},{}]}"#),
        @"step 2 of the script is not valid: the step has neither `say` nor `error`");
    assert_snapshot!(said(r#"{"steps":[{"say":[{"text":"a"},{"text":"b","thinking":"c"}]}]}"#),
        @"step 1 of the script is not valid: block 2: a block needs exactly one of text, thinking and call");
    assert_snapshot!(said(r#"{"steps":[{"say":[{"call":{"name":"bash","args":[1]}}]}]}"#),
        @"step 1 of the script is not valid: block 1: args is not an object; use args_text for arguments that are not an object");
    assert_snapshot!(said(r#"{"steps":[{"sya":[]}]}"#), @"step 1 of the script is not valid: unknown field `sya`, expected one of `when`, `repeat`, `say`, `chunk`, `pause_ms`, `usage`, `stop`, `error`, in line 1, column 16");
    assert_snapshot!(said("nonsense"), @"the script is not valid: invalid JSON in line 1, column 2");
    let second = "{\"steps\": [\n  {\"say\": [{\"text\": \"a\"}]},\n  {\"say\": 1}\n]}";
    assert_snapshot!(said(second),
        @"step 2 of the script is not valid: invalid type: integer `1`, expected a sequence, in line 3, column 11");
}

#[test]
fn error_names_missing_file() {
    let error = ScriptedModel::from_file(std::path::Path::new("/nonexistent/script.json")).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the script /nonexistent/script.json");
}
