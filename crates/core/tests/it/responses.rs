//! Tests of `AfterModelResponse`: edited and refused answers.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{
    AfterModelResponse, BeforeAssistantMessage, CancellationToken, MessageDecision, ReceivedResponse,
    Refusal, ResponseDecision,
};
use haft_core::model::ModelEvent;
use haft_core::session::Session;
use haft_core::session::entry::EntryBody;
use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_core::tool::ToolOutput;
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, NativeMessage, StopCause};

use crate::fake::{Answer, Script, answer, call, calls, run, says, tool, transcript};

/// Returns its decisions in order, then keeps answers; records its queries.
#[derive(Clone)]
struct Filter {
    decisions: Arc<Mutex<VecDeque<ResponseDecision>>>,
    asked: Arc<Mutex<Vec<ReceivedResponse>>>,
    holds_back: bool,
}

impl Filter {
    fn new(decisions: Vec<ResponseDecision>) -> Self {
        let decisions = Arc::new(Mutex::new(decisions.into()));
        Self { decisions, asked: Arc::default(), holds_back: true }
    }
}

#[async_trait]
impl AfterModelResponse for Filter {
    async fn after_model_response(
        &self,
        _: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision {
        self.asked.lock().unwrap().push(response.clone());
        self.decisions.lock().unwrap().pop_front().unwrap_or(ResponseDecision::Keep)
    }

    fn suppresses_deltas(&self) -> bool {
        self.holds_back
    }

    fn name(&self) -> &str {
        "f"
    }
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

fn edit(content: Vec<AssistantBlock>) -> ResponseDecision {
    ResponseDecision::Edit { content }
}

/// Adds native data that only its provider can read.
fn native(mut answer: Answer) -> Answer {
    let Some(Ok(ModelEvent::Done(response))) = answer.items.last_mut() else { panic!("no end") };
    response.native = Some(NativeMessage::new("script", RawJson::empty_object()));
    answer
}

fn interventions(session: &Session) -> Vec<(InterventionAction, String)> {
    let branch = session.branch();
    let custom = branch.iter().filter_map(|entry| match &entry.body {
        EntryBody::Custom(custom) => HookIntervention::from_custom(custom),
        _ => None,
    });
    custom.map(|it| (it.action, it.by.join(","))).collect()
}

#[tokio::test]
async fn edited_answer_is_recorded_and_shown() {
    let script = Script::new(vec![native(says("the code is 1234"))]);
    let hook = Filter::new(vec![edit(vec![text("the code is ….")])]);
    let agent = script.agent().after_model_response(hook.clone()).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(transcript(&agent), ["user go", "assistant the code is …. "]);
    assert!(!events.join("\n").contains("1234"), "{events:#?}");
    let told: Vec<_> =
        events.iter().filter(|line| line.contains("the code") || line.contains("model_response")).collect();
    let response = r#"{"type":"model_response","text_bytes":16,"tool_calls":0,"thinking":false}"#;
    assert_eq!(told, [response, "delta the code is ….", "assistant the code is …."]);
    let [Message::User { .. }, Message::Assistant(said)] = &agent.messages()[..] else { panic!() };
    assert_eq!(said.native, None);
    assert_eq!(interventions(agent.session()), [(InterventionAction::AnswerEdited, "f".to_owned())]);
    let asked = hook.asked.lock().unwrap()[0].clone();
    assert_eq!((asked.step, asked.model.to_string().as_str()), (1, "script/test"));
    assert_eq!((asked.content, asked.stop), (vec![text("the code is 1234")], StopCause::End));
}

#[tokio::test]
async fn kept_answer_keeps_its_native_data() {
    let script = Script::new(vec![native(says("hi"))]);
    let hook = Filter::new(vec![ResponseDecision::Keep, edit(vec![text("hi")])]);
    let same = Filter::new(vec![edit(vec![text("hi")])]);
    let agent = script.agent().after_model_response(hook).after_model_response(same).build().unwrap();
    run(&agent).await.1.unwrap();
    let [_, Message::Assistant(said)] = &agent.messages()[..] else { panic!() };
    assert!(said.native.is_some());
    assert_eq!(interventions(agent.session()), []);
}

#[tokio::test]
async fn only_calls_of_the_edited_answer_run() {
    let script = Script::new(vec![calls(vec![call("t1", "rm", "{}"), call("t2", "echo", "{}")]), says("ok")]);
    let keeps = AssistantBlock::ToolCall(call("t2", "echo", r#"{"n":3}"#));
    let agent = script
        .agent()
        .tool(tool("rm", |_| panic!("it must not run")))
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .after_model_response(Filter::new(vec![edit(vec![keeps])]))
        .build()
        .unwrap();
    let (_, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    let expect = ["user go", r#"assistant  echo{"n":3}"#, r#"tool t2 {"n":3}"#, "assistant ok "];
    assert_eq!(transcript(&agent), expect);
}

/// Checks that the end of a step depends on the edited answer.
#[track_caller]
fn check_stop(model: Answer, content: Vec<AssistantBlock>, stop: StopCause, runs: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let script = Script::new(vec![model, says("ok")]);
        let agent = script
            .agent()
            .tool(tool("echo", |_| ToolOutput::text("ran")))
            .after_model_response(Filter::new(vec![edit(content)]))
            .build()
            .unwrap();
        let (events, _) = run(&agent).await;
        let end = events.iter().find(|line| line.starts_with("end ")).unwrap();
        assert_eq!(*end, format!("end {stop:?}"));
        assert_eq!(events.iter().any(|line| line.contains("ran")), runs, "{events:#?}");
    });
}

#[test]
fn edit_can_remove_and_add_calls() {
    let one = || AssistantBlock::ToolCall(call("t1", "echo", "{}"));
    check_stop(calls(vec![call("t1", "echo", "{}")]), vec![text("no")], StopCause::End, false);
    check_stop(says("hi"), vec![one()], StopCause::ToolUse, true);
    // A truncated answer stays truncated after an edit.
    let cut = || answer(Some("hi"), vec![call("t1", "echo", "{}")], StopCause::Length);
    check_stop(cut(), vec![one()], StopCause::ToolUse, false);
    check_stop(cut(), vec![text("hi")], StopCause::Length, false);
}

fn thinks(said: &str) -> Answer {
    let mut answer = says(said);
    answer.items.insert(0, Ok(ModelEvent::Thinking("hm".into())));
    let Some(Ok(ModelEvent::Done(response))) = answer.items.last_mut() else { panic!("no end") };
    response.content.insert(0, AssistantBlock::Thinking { text: "hm".into() });
    answer
}

struct Shows;

#[async_trait]
impl BeforeAssistantMessage for Shows {
    async fn before_assistant_message(&self, _: &CancellationToken, _: &str) -> MessageDecision {
        MessageDecision::Show
    }
}

#[tokio::test]
async fn holds_back_deltas_and_shows_thinking_afterwards() {
    let told = |holds_back: bool, intercepted: bool| async move {
        let script = Script::new(vec![thinks("one")]);
        let hook = Filter {
            holds_back,
            ..Filter::new(vec![edit(vec![AssistantBlock::Thinking { text: "hum".into() }, text("two")])])
        };
        let builder = script.agent().after_model_response(hook);
        let builder = if intercepted { builder.before_assistant_message(Shows) } else { builder };
        let (events, outcome) = run(&builder.build().unwrap()).await;
        outcome.unwrap();
        let deltas = events.iter().filter(|line| line.contains("delta"));
        deltas
            .map(|line| line.replace(r#"{"type":"thinking_delta","delta":"#, "thinking "))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(true, false).await, [r#"thinking "hum"}"#, "delta two"]);
    assert_eq!(told(false, false).await, [r#"thinking "hm"}"#, "delta one"]);
    // Message interceptors do not see thinking, so that it is not shown while one exists.
    assert_eq!(told(true, true).await, ["delta two"]);
    assert_eq!(told(false, true).await, ["delta two"]);
}

/// Creates an answer with a call that arrives in pieces.
fn streams_a_call(args: &str) -> Answer {
    let id = || ToolCallId::new("t1");
    let mut answer = calls(vec![call("t1", "echo", args)]);
    let pieces = [
        ModelEvent::ToolCallStart { id: id(), name: "echo".into() },
        ModelEvent::ToolCallArgs { id: id(), delta: args.into() },
        ModelEvent::ToolCallEnd { id: id() },
    ];
    answer.items.splice(0..0, pieces.map(Ok));
    answer
}

#[tokio::test]
async fn holds_back_calls_and_shows_the_edited_ones() {
    let told = |holds_back: bool, edits: Option<AssistantBlock>, intercepted: bool| async move {
        let script = Script::new(vec![streams_a_call(r#"{"n":1}"#), says("ok")]);
        let edits = edits.map(|block| edit(vec![block]));
        let hook = Filter { holds_back, ..Filter::new(Vec::from_iter(edits)) };
        let builder =
            script.agent().tool(tool("echo", |_| ToolOutput::text("ran"))).after_model_response(hook);
        let builder = if intercepted { builder.before_assistant_message(Shows) } else { builder };
        let (events, outcome) = run(&builder.build().unwrap()).await;
        outcome.unwrap();
        let of_calls = |line: &&String| line.contains("tool_use") || line.contains("model_response");
        let names = events.iter().filter(of_calls).take(4).map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = event["name"].as_str().or(event["delta"].as_str()).unwrap_or_default();
            format!("{} {text}", event["type"].as_str().unwrap())
        });
        names.collect::<Vec<_>>()
    };
    let (start, args, end) = ("tool_use_start echo", r#"tool_use_args {"n":1}"#, "tool_use_end ");
    let (answered, other) = ("model_response ", AssistantBlock::ToolCall(call("t1", "echo", r#"{"n":2}"#)));
    for intercepted in [false, true] {
        assert_eq!(told(false, None, intercepted).await, [start, args, end, answered]);
        assert_eq!(told(true, None, intercepted).await, [answered, start, args, end]);
        let edited = r#"tool_use_args {"n":2}"#;
        assert_eq!(told(true, Some(other.clone()), intercepted).await, [answered, start, edited, end]);
        assert_eq!(told(true, Some(text("no")), intercepted).await, [answered]);
    }
}

#[tokio::test]
async fn refused_answer_ends_the_turn_and_leaves_the_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/work"));
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("fine")]);
    let abort = ResponseDecision::Refuse(Refusal::for_turn("leak"));
    let agent = script
        .agent()
        .tool(tool("echo", |_| panic!("it must not run")))
        .after_model_response(Filter::new(vec![abort]))
        .session(session)
        .build()
        .unwrap();
    let (events, outcome) = run(&agent).await;
    let kind = TurnErrorKind::Blocked { by: "f".into(), reason: "leak".into() };
    assert_eq!(outcome.unwrap_err().kind, kind);
    assert!(events.contains(&"error turn blocked by f: leak".to_owned()), "{events:#?}");
    // The answer cost tokens, and its usage is reported.
    assert!(events.iter().any(|line| line.contains(r#""type":"usage","input":10"#)), "{events:#?}");
    assert_eq!(transcript(&agent), ["user go"]);
    assert_eq!(interventions(agent.session()), [(InterventionAction::AnswerDropped, "f".to_owned())]);
    let path = agent.session().path().unwrap();
    drop(agent);
    // A reopened session continues from the same entry; the answer is in its log.
    let again = Session::open(&path).unwrap();
    assert_eq!(again.context().messages.len(), 1);
    assert_eq!(interventions(&again), [(InterventionAction::AnswerDropped, "f".to_owned())]);
    assert!(std::fs::read_to_string(path).unwrap().contains(r#""name":"echo""#));
}

struct Panics;

#[async_trait]
impl AfterModelResponse for Panics {
    async fn after_model_response(&self, _: &CancellationToken, _: &ReceivedResponse) -> ResponseDecision {
        panic!("boom")
    }

    fn name(&self) -> &str {
        "p"
    }
}

#[tokio::test]
async fn panicking_hook_refuses_the_answer() {
    let script = Script::new(vec![says("SECRET")]);
    let agent = script.agent().after_model_response(Panics).build().unwrap();
    let (events, outcome) = run(&agent).await;
    let kind = TurnErrorKind::Blocked { by: "p".into(), reason: "the hook panicked".into() };
    assert_eq!(outcome.unwrap_err().kind, kind);
    assert!(!events.join("\n").contains("SECRET"), "{events:#?}");
    assert_eq!(transcript(&agent), ["user go"]);
}

/// Never decides.
struct Hangs;

#[async_trait]
impl AfterModelResponse for Hangs {
    async fn after_model_response(
        &self,
        cancel: &CancellationToken,
        _: &ReceivedResponse,
    ) -> ResponseDecision {
        cancel.cancelled().await;
        ResponseDecision::Keep
    }
}

#[tokio::test]
async fn drops_held_back_parts_on_cancellation() {
    let script = Script::new(vec![says("SECRET")]);
    let agent = script.agent().after_model_response(Hangs).build().unwrap();
    let mut run = agent.prompt("go");
    let cancel = run.cancellation_token();
    while let Some(event) = run.next().await {
        if let AgentEvent::AssistantStart = event {
            cancel.cancel();
        }
        assert!(!matches!(event, AgentEvent::TextDelta { .. }));
    }
    assert_eq!(run.finish().await.unwrap_err().kind, TurnErrorKind::Aborted);
    assert_eq!(transcript(&agent), ["user go"]);
}
