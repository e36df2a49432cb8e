//! Tests of `BeforeModelRequest`: the request that is sent, and the unchanged transcript.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{
    BeforeModelRequest, CancellationToken, OutgoingRequest, Refusal, RequestDecision, RequestEdit,
};
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelId, ModelSource, RequestOptions, ThinkingLevel, ToolChoice,
};
use haft_core::tool::{ToolOutput, ToolSpec};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, Rfc3339Time};

use crate::fake::{Answer, Script, call, calls, run, says, tool, transcript};

/// Returns its decisions in order, then sends; records its queries and rejected edits.
#[derive(Clone, Default)]
struct Edits {
    decisions: Arc<Mutex<VecDeque<RequestDecision>>>,
    asked: Arc<Mutex<Vec<OutgoingRequest>>>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Edits {
    fn new(decisions: Vec<RequestDecision>) -> Self {
        Self { decisions: Arc::new(Mutex::new(decisions.into())), ..Self::default() }
    }

    fn one(edit: RequestEdit) -> Self {
        Self::new(vec![RequestDecision::Edit(edit)])
    }

    fn refused(&self) -> Vec<String> {
        self.refused.lock().unwrap().clone()
    }

    fn asked(&self) -> Vec<OutgoingRequest> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl BeforeModelRequest for Edits {
    async fn before_model_request(
        &self,
        _: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision {
        self.asked.lock().unwrap().push(request.clone());
        self.decisions.lock().unwrap().pop_front().unwrap_or(RequestDecision::Send)
    }

    fn edit_refused(&self, detail: &str) {
        self.refused.lock().unwrap().push(detail.to_owned());
    }

    fn name(&self) -> &str {
        "cost"
    }
}

fn said(text: &str) -> Message {
    Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("T".into()) }
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message {
            Message::User { content, .. } => haft_protocol::content::joined_text(content),
            Message::Assistant(said) => format!("assistant {}", said.text()),
            Message::Tool(result) => format!("{} {}", result.call_id, result.is_error),
        })
        .collect()
}

fn adds(name: &str) -> RequestEdit {
    RequestEdit::default().with_add_tools(vec![ToolSpec::new(name, "More.")])
}

#[tokio::test]
async fn edit_affects_one_request_but_not_the_transcript() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let options = RequestOptions::default().with_max_tokens(9).with_temperature(0.0);
    let edit = RequestEdit::default()
        .with_messages(vec![said("other")])
        .with_add_tools(vec![ToolSpec::new("more", "More.")])
        .with_options(options.clone())
        .with_thinking(ThinkingLevel::High);
    let hook = Edits::one(edit);
    let agent = script
        .agent()
        .tool(tool("echo", |_| ToolOutput::text("x")))
        .before_model_request(hook.clone())
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    let requests = script.requests.lock().unwrap().clone();
    let shapes: Vec<_> = requests
        .iter()
        .map(|request| {
            let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.clone()).collect();
            (texts(&request.messages), tools, request.options.clone(), request.thinking)
        })
        .collect();
    let strings = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    assert_eq!(shapes[0], (strings(&["other"]), strings(&["echo", "more"]), options, ThinkingLevel::High));
    let (messages, tools) = (strings(&["go", "assistant ", "t1 false"]), strings(&["echo"]));
    assert_eq!(shapes[1], (messages, tools, RequestOptions::default(), ThinkingLevel::default()));
    assert_eq!(transcript(&agent), ["user go", "assistant  echo{}", "tool t1 x", "assistant ok "]);
    let asked: Vec<_> = hook.asked().iter().map(|asked| (asked.step, asked.last)).collect();
    assert_eq!(asked, [(1, false), (2, false)]);
    assert_eq!(hook.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn later_hooks_see_earlier_edits() {
    let script = Script::new(vec![says("ok")]);
    let second = Edits::one(adds("two"));
    let edit = adds("one").with_messages(vec![said("first")]);
    let agent = script
        .agent()
        .before_model_request(Edits::one(edit))
        .before_model_request(second.clone())
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    let [asked] = &second.asked()[..] else { panic!("asked once") };
    assert_eq!((texts(&asked.messages), asked.tools.len()), (vec!["first".to_owned()], 1));
    assert_eq!(asked.tools[0].name, "one");
    assert_eq!(script.requests.lock().unwrap()[0].tools.len(), 2);
}

/// Checks that a hook's invalid changes are rejected and the rest of its edit applies.
#[track_caller]
fn check_refused(edit: RequestEdit, refused: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let script = Script::new(vec![says("ok")]);
        let hook = Edits::one(edit.with_thinking(ThinkingLevel::Low));
        let agent = script
            .agent()
            .tool(tool("echo", |_| ToolOutput::text("x")))
            .tool(tool("off", |_| ToolOutput::text("x")))
            .before_model_request(hook.clone())
            .build()
            .unwrap();
        agent.set_active_tools(Some(vec!["echo".to_owned(), "later".to_owned()]));
        run(&agent).await.1.unwrap();
        let request = script.requests.lock().unwrap()[0].clone();
        assert_eq!((texts(&request.messages), request.thinking), (vec!["go".to_owned()], ThinkingLevel::Low));
        assert_eq!(request.options, RequestOptions::default());
        assert_eq!(request.tools.len(), 1);
        assert_eq!(request.tools[0].description, "The echo tool.");
        assert_eq!(hook.refused(), refused);
    });
}

#[test]
fn reports_rejected_edits() {
    let none = RequestEdit::default;
    check_refused(none(), &[]);
    check_refused(none().with_messages(Vec::new()), &["the edit removes all messages"]);
    let options = |max_tokens, temperature| {
        none()
            .with_options(RequestOptions::default().with_max_tokens(max_tokens).with_temperature(temperature))
    };
    check_refused(options(Some(0), None), &["max_tokens is 0; set it to at least 1"]);
    check_refused(options(None, Some(-1.0)), &["the temperature is -1; set it to at least 0 and at most 2"]);
    let choice = RequestOptions::default().with_tool_choice(ToolChoice::Tool("off".into()));
    check_refused(
        none().with_options(choice),
        &[r#"the tool choice names "off", but no such tool is offered to the model"#],
    );
    check_refused(
        none().with_model("nobody"),
        &[r#"cannot switch to model "nobody": no other model is available; the request goes to script/test"#],
    );
    // The model's own name does not switch the model.
    check_refused(none().with_model("test"), &[]);
    check_refused(none().with_model("script/test"), &[]);
}

#[test]
fn hooks_can_only_add_permitted_tools() {
    check_refused(adds("echo"), &[]);
    let left_out = |name: &str| format!("cannot add the tool {name:?}: the tool is not active");
    check_refused(adds("off"), &[&left_out("off")]);
    check_refused(adds("new"), &[&left_out("new")]);
    let broken = r#"cannot add the tool "a b": a tool name is a letter, then letters, digits, _ and -"#;
    check_refused(adds("a b"), &[broken]);
    let spec = ToolSpec::new("later", "No schema.").with_schema(RawJson::parse("[]").unwrap());
    check_refused(
        RequestEdit::default().with_add_tools(vec![spec]),
        &[r#"cannot add the tool "later": its schema is not an object"#],
    );
}

/// Knows one model by one name.
struct Other(Arc<dyn Model>);

#[async_trait]
impl ModelSource for Other {
    async fn model(&self, name: &str, asked: &ModelId) -> Result<Arc<dyn Model>, String> {
        match name {
            "other" => Ok(self.0.clone()),
            name => Err(format!("there is no {name} beside {asked}")),
        }
    }
}

#[tokio::test]
async fn hook_selects_another_model_for_one_request() {
    let script = Script::new(vec![says("mine")]);
    let other = Script::new(vec![says("theirs")]).named("other");
    let wants = || RequestEdit::default().with_model("other");
    let known: Arc<dyn Model> = Arc::new(other.clone());
    let agent =
        script.agent().before_model_request(Edits::one(wants())).models(Other(known)).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    let request =
        r#"{"type":"model_request","step":1,"provider":"script","model":"other","messages":1,"tools":0}"#;
    assert!(events.iter().any(|line| line == request), "{events:#?}");
    assert_eq!((script.requests.lock().unwrap().len(), other.requests.lock().unwrap().len()), (0, 1));
    // The log names the model that answered; the session's model is still the agent's.
    let answers: Vec<_> =
        agent.session().branch().iter().filter_map(|entry| entry.body.answer().cloned()).collect();
    assert_eq!(answers.iter().map(|answer| answer.model.as_str()).collect::<Vec<_>>(), ["other"]);
    assert_eq!(agent.session().context().settings.model.unwrap().model, "test");
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent).last().unwrap(), "assistant mine ");
}

#[tokio::test]
async fn later_hook_can_restore_the_agents_model() {
    let script = Script::new(vec![says("mine")]);
    let known: Arc<dyn Model> = Arc::new(Script::default().named("other"));
    let wants = |name: &str| RequestEdit::default().with_model(name);
    let agent = script
        .agent()
        .before_model_request(Edits::one(wants("other")))
        .before_model_request(Edits::one(wants("script/test")))
        .models(Other(known))
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent), ["user go", "assistant mine "]);
}

#[tokio::test]
async fn reports_unavailable_model_and_uses_the_agents_own() {
    let script = Script::new(vec![says("mine")]);
    let hook = Edits::one(RequestEdit::default().with_model("nobody"));
    let known: Arc<dyn Model> = Arc::new(Script::default().named("other"));
    let agent = script.agent().before_model_request(hook.clone()).models(Other(known)).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent), ["user go", "assistant mine "]);
    let expect = r#"cannot switch to model "nobody": there is no nobody beside script/test; the request goes to script/test"#;
    assert_eq!(hook.refused(), [expect]);
}

#[tokio::test]
async fn adds_results_for_calls_left_without_one_by_an_edit() {
    let script = Script::new(vec![says("ok")]);
    let asks = AssistantMessage::new(
        vec![AssistantBlock::ToolCall(call("t9", "echo", "{}"))],
        Rfc3339Time("T".into()),
    );
    let messages = vec![said("a"), Message::Assistant(asks), said("b")];
    let hook = Edits::one(RequestEdit::default().with_messages(messages));
    let agent = script.agent().before_model_request(hook).build().unwrap();
    run(&agent).await.1.unwrap();
    let sent = texts(&script.requests.lock().unwrap()[0].messages);
    assert_eq!(sent, ["a", "assistant ", "t9 true", "b"]);
}

#[tokio::test]
async fn refused_request_ends_the_turn_with_its_reason() {
    let script = Script::new(vec![]);
    let abort = RequestDecision::Refuse(Refusal::for_turn("over budget"));
    let agent = script.agent().before_model_request(Edits::new(vec![abort])).build().unwrap();
    let (events, outcome) = run(&agent).await;
    let kind = TurnErrorKind::Blocked { by: "cost".into(), reason: "over budget".into() };
    assert_eq!(outcome.unwrap_err().kind, kind);
    assert!(events.contains(&"end Error turn blocked by cost: over budget".to_owned()), "{events:#?}");
    assert_eq!(transcript(&agent), ["user go"]);
}

struct Panics;

#[async_trait]
impl BeforeModelRequest for Panics {
    async fn before_model_request(&self, _: &CancellationToken, _: &OutgoingRequest) -> RequestDecision {
        panic!("boom")
    }
}

#[tokio::test]
async fn panicking_hook_refuses_the_request() {
    let script = Script::new(vec![]);
    let agent = script.agent().before_model_request(Panics).build().unwrap();
    let kind = TurnErrorKind::Blocked { by: "a hook".into(), reason: "the hook panicked".into() };
    assert_eq!(run(&agent).await.1.unwrap_err().kind, kind);
    assert!(script.requests.lock().unwrap().is_empty());
}

/// Never decides.
struct Hangs;

#[async_trait]
impl BeforeModelRequest for Hangs {
    async fn before_model_request(&self, cancel: &CancellationToken, _: &OutgoingRequest) -> RequestDecision {
        cancel.cancelled().await;
        RequestDecision::Send
    }
}

#[tokio::test]
async fn cancelled_run_sends_no_request() {
    let script = Script::new(vec![]);
    let agent = script.agent().before_model_request(Hangs).build().unwrap();
    let run = agent.prompt("go");
    let cancel = run.cancellation_token();
    let (outcome, ()) = tokio::join!(run.finish(), async move { cancel.cancel() });
    assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Aborted);
    assert!(script.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn hooks_are_asked_again_after_compaction() {
    let overflow =
        Answer { items: vec![Err(ModelError::new(ModelErrorKind::Overflow, "too long"))], hangs: false };
    let script = Script::new(vec![overflow, says("notes"), says("ok")]);
    let hook = Edits::default();
    let old = (0..40).map(|n| said(&format!("{n} {}", "x".repeat(400)))).collect();
    let agent = script.agent().messages(old).before_model_request(hook.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    let asked: Vec<_> = hook.asked().iter().map(|asked| (asked.step, asked.messages.len())).collect();
    let [(1, before), (1, after)] = asked[..] else { panic!("{asked:?}") };
    assert!(after < before, "{asked:?}");
}
