//! Tests of discarded turns: they leave the context, and stay in the session's log on an abandoned branch.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::hooks::{
    AfterModelResponse, AfterToolExecute, BeforeModelRequest, BeforeToolExecute, CancellationToken,
    FinishedCall, OutgoingRequest, ReceivedResponse, Refusal, RefusalScope, RequestDecision,
    ResponseDecision, ResultDecision, ToolDecision,
};
use haft_core::session::Session;
use haft_core::session::entry::EntryBody;
use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_core::tool::ToolOutput;
use haft_core::{AgentBuilder, QueueDelivery};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;

use crate::fake::{Answer, Script, call, calls, run, says, tool, transcript, whenever};

/// The point at which the hook discards the turn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    Request,
    Response,
    Call,
    Result,
}

/// Discards the turn at one point, at its first query in the second run.
#[derive(Clone)]
struct Discards {
    at: At,
    armed: Arc<Mutex<bool>>,
}

impl Discards {
    fn says_so(&self, at: At) -> bool {
        self.at == at && std::mem::take(&mut *self.armed.lock().unwrap())
    }
}

const REASON: &str = "undo";

#[async_trait]
impl BeforeModelRequest for Discards {
    async fn before_model_request(&self, _: &CancellationToken, _: &OutgoingRequest) -> RequestDecision {
        match self.says_so(At::Request) {
            true => RequestDecision::Refuse(Refusal::for_discarded_turn(REASON)),
            false => RequestDecision::Send,
        }
    }

    fn name(&self) -> &str {
        "d"
    }
}

#[async_trait]
impl AfterModelResponse for Discards {
    async fn after_model_response(&self, _: &CancellationToken, _: &ReceivedResponse) -> ResponseDecision {
        match self.says_so(At::Response) {
            true => ResponseDecision::Refuse(Refusal::for_discarded_turn(REASON)),
            false => ResponseDecision::Keep,
        }
    }

    fn name(&self) -> &str {
        "d"
    }
}

#[async_trait]
impl BeforeToolExecute for Discards {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        match self.says_so(At::Call) {
            true => ToolDecision::Refuse(Refusal::new(RefusalScope::DiscardedTurn, REASON)),
            false => ToolDecision::Allow,
        }
    }

    fn name(&self) -> &str {
        "d"
    }
}

#[async_trait]
impl AfterToolExecute for Discards {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        match self.says_so(At::Result) {
            true => ResultDecision::Refuse(Refusal::for_discarded_turn(REASON)),
            false => output.into(),
        }
    }

    fn name(&self) -> &str {
        "d"
    }
}

fn with(builder: AgentBuilder, hook: &Discards) -> AgentBuilder {
    builder
        .before_model_request(hook.clone())
        .after_model_response(hook.clone())
        .before_tool_execute(hook.clone())
        .after_tool_execute(hook.clone())
        .tool(tool("echo", |_| ToolOutput::text("ran")))
}

fn two_calls() -> Answer {
    calls(vec![call("t1", "echo", "{}"), call("t2", "echo", "{}")])
}

fn last_intervention(session: &Session) -> Option<HookIntervention> {
    let branch = session.branch();
    match &branch.last()?.body {
        EntryBody::Custom(custom) => HookIntervention::from_custom(custom),
        _ => None,
    }
}

/// Runs a normal turn, a discarded one and another one, reopening the session each time.
async fn check(at: At, expect_results: usize) {
    let dir = tempfile::tempdir().unwrap();
    let hook = Discards { at, armed: Arc::new(Mutex::new(false)) };
    let script = Script::new(vec![says("first"), two_calls(), says("third"), says("fourth")]);
    let session = Session::create(dir.path(), Path::new("/work"));
    let agent = with(script.agent(), &hook).session(session).build().unwrap();
    run(&agent).await.1.unwrap();
    let kept = ["user go", "assistant first "];

    *hook.armed.lock().unwrap() = true;
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()), "{at:?}");
    assert_eq!(transcript(&agent), kept, "{at:?}");
    let end = events.iter().position(|line| line == "end Aborted").expect("an end");
    let discarded = r#"{"type":"turn_discarded","by":"d","reason":"undo"}"#;
    assert_eq!(events[end + 1..], [discarded.to_owned(), r#"{"type":"done"}"#.to_owned()], "{at:?}");
    let results = events.iter().filter(|line| line.starts_with("result")).count();
    assert_eq!(results, expect_results, "{at:?} {events:#?}");
    assert_eq!(last_intervention(agent.session()).unwrap().action, InterventionAction::Discarded);

    let path = agent.session().path().unwrap();
    drop(agent);
    let again = Session::open(&path).unwrap();
    assert_eq!(last_intervention(&again).unwrap().by, ["d"], "{at:?}");
    let agent = with(script.agent(), &hook).session(again).build().unwrap();
    assert_eq!(transcript(&agent), kept, "{at:?}");
    run(&agent).await.1.unwrap();
    let lines = transcript(&agent);
    assert_eq!(lines.len(), if at == At::Request { 7 } else { 4 }, "{at:?} {lines:#?}");
    assert_eq!(lines[..3], ["user go", "assistant first ", "user go"]);
}

#[tokio::test]
async fn discarded_turn_is_removed_from_the_context() {
    check(At::Request, 0).await;
    check(At::Response, 0).await;
    check(At::Call, 2).await;
    check(At::Result, 2).await;
}

#[tokio::test]
async fn first_turn_of_a_session_can_be_discarded() {
    let dir = tempfile::tempdir().unwrap();
    let hook = Discards { at: At::Call, armed: Arc::new(Mutex::new(true)) };
    let script = Script::new(vec![two_calls(), says("ok")]);
    let session = Session::create(dir.path(), Path::new("/work"));
    let agent = with(script.agent(), &hook).session(session).build().unwrap();
    assert_eq!(run(&agent).await.1, Ok(()));
    assert_eq!(transcript(&agent), Vec::<String>::new());
    let path = agent.session().path().unwrap();
    drop(agent);
    let again = Session::open(&path).unwrap();
    assert_eq!((again.context().messages.len(), again.take_repairs()), (0, Vec::new()));
    let agent = with(script.agent(), &hook).session(again).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent), ["user go", "assistant ok "]);
}

#[tokio::test]
async fn withholds_result_that_ends_the_turn_and_cancels_other_calls() {
    let hook = Discards { at: At::Result, armed: Arc::new(Mutex::new(true)) };
    let script = Script::new(vec![two_calls()]);
    let agent = with(script.agent(), &hook).build().unwrap();
    let (events, _) = run(&agent).await;
    let results: Vec<_> = events.iter().filter(|line| line.starts_with("result")).collect();
    assert_eq!(results, ["result t1 error result withheld: d ended the turn: undo", "result t2 ran"]);
}

/// A follow-up is a turn of its own, so that earlier turns stay.
#[tokio::test]
async fn discards_only_the_current_turn() {
    let hook = Discards { at: At::Call, armed: Arc::new(Mutex::new(true)) };
    let script = Script::new(vec![says("first"), two_calls()]);
    let agent = whenever(with(script.agent(), &hook), |agent, event| {
        if let AgentEvent::AssistantStart = event
            && agent.messages().len() == 1
        {
            assert_eq!(agent.follow_up("and then").unwrap(), QueueDelivery::Running);
        }
    });
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(transcript(&agent), ["user go", "assistant first "]);
    assert!(events.contains(&"user and then".to_owned()), "{events:#?}");
}

#[tokio::test]
async fn queued_messages_survive_a_discarded_turn() {
    let hook = Discards { at: At::Call, armed: Arc::new(Mutex::new(true)) };
    let script = Script::new(vec![two_calls()]);
    let agent = whenever(with(script.agent(), &hook), |agent, event| {
        if let AgentEvent::ToolCall { id, .. } = event
            && id.as_str() == "t1"
        {
            assert_eq!(agent.steer("wait").unwrap(), QueueDelivery::Running);
        }
    });
    assert_eq!(run(&agent).await.1, Ok(()));
    assert_eq!(agent.queued_messages().steering.len(), 1);
}
