//! Tests of the end of a run: the hooks before it, and the events about the run and the setup.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt as _;
use haft_core::hooks::{BeforeSettle, CancellationToken, MAX_CONTINUATIONS, SettleDecision, SettlingRun};
use haft_core::model::{ModelError, ModelErrorKind, ThinkingLevel};
use haft_core::{Agent, QueueDelivery};
use haft_protocol::event::{AgentEvent, AgentEventKind};

use crate::fake::{Answer, Script, line, run, says, transcript, whenever};

/// Continues each run `times` times, and records the questions.
#[derive(Clone)]
struct GoesOn {
    times: u32,
    asked: Arc<Mutex<Vec<SettlingRun>>>,
    /// An agent that gets a follow-up during the first question.
    steered: Arc<Mutex<Option<Agent>>>,
}

impl GoesOn {
    fn new(times: u32) -> Self {
        Self { times, asked: Arc::default(), steered: Arc::default() }
    }
}

#[async_trait]
impl BeforeSettle for GoesOn {
    async fn before_settle(&self, _: &CancellationToken, run: &SettlingRun) -> SettleDecision {
        self.asked.lock().unwrap().push(run.clone());
        if let Some(agent) = self.steered.lock().unwrap().take() {
            assert_eq!(agent.follow_up("mine first").unwrap(), QueueDelivery::Running);
        }
        match run.continued < self.times {
            true => SettleDecision::GoOn { text: format!("go on {}", run.continued) },
            false => SettleDecision::Settle,
        }
    }
}

struct Panics;

#[async_trait]
impl BeforeSettle for Panics {
    async fn before_settle(&self, _: &CancellationToken, _: &SettlingRun) -> SettleDecision {
        panic!("boom")
    }
}

#[tokio::test]
async fn run_goes_on_with_the_message_of_the_first_hook() {
    let (hook, other) = (GoesOn::new(1), GoesOn::new(0));
    let script = Script::new(vec![says("one"), says("two")]);
    let agent = script.agent().before_settle(Panics).before_settle(hook.clone()).before_settle(other.clone());
    let agent = agent.build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent), ["user go", "assistant one ", "user go on 0", "assistant two "]);
    let about = |text: &str, continued| SettlingRun::new(text, continued);
    assert_eq!(*hook.asked.lock().unwrap(), [about("one", 0), about("two", 1)]);
    assert_eq!(*other.asked.lock().unwrap(), [about("two", 1)]);
}

#[tokio::test]
async fn two_hooks_cannot_keep_a_run_going_for_ever() {
    let endless = || GoesOn::new(u32::MAX);
    let script = Script::new((0..=MAX_CONTINUATIONS).map(|_| says("more")).collect());
    let agent = script.agent().before_settle(endless()).before_settle(endless()).build().unwrap();
    run(&agent).await.1.unwrap();
    let said = transcript(&agent);
    assert_eq!(said.iter().filter(|line| line.starts_with("user go on")).count(), 10);
    assert_eq!(said.last().map(String::as_str), Some("assistant more "));
}

#[tokio::test]
async fn message_of_the_user_comes_before_that_of_a_hook() {
    let hook = GoesOn::new(1);
    let script = Script::new(vec![says("one"), says("two"), says("three")]);
    let agent = script.agent().before_settle(hook.clone()).build().unwrap();
    *hook.steered.lock().unwrap() = Some(agent.clone());
    run(&agent).await.1.unwrap();
    let expect = [
        "user go",
        "assistant one ",
        "user mine first",
        "assistant two ",
        "user go on 0",
        "assistant three ",
    ];
    assert_eq!(transcript(&agent), expect);
}

/// Returns the kinds of the first and the last two events of a run that gets a follow-up while it works.
async fn ends_of_run(answers: Vec<Answer>) -> Vec<AgentEventKind> {
    let agent = whenever(Script::new(answers).agent(), |agent, event| {
        if let AgentEvent::TurnStart { step: 1 } = event
            && agent.messages().len() == 1
        {
            assert_eq!(agent.follow_up("more").unwrap(), QueueDelivery::Running);
        }
    });
    let mut kinds: Vec<_> = agent.prompt("go").map(|event| event.kind()).collect().await;
    drop(kinds.drain(1..kinds.len() - 2));
    kinds
}

#[tokio::test]
async fn run_that_leaves_no_message_is_settled() {
    use AgentEventKind::{AgentStart, Done, Settled};
    assert_eq!(ends_of_run(vec![says("one"), says("two")]).await, [AgentStart, Settled, Done]);
}

#[tokio::test]
async fn run_that_leaves_a_message_is_not_settled() {
    use AgentEventKind::{AgentStart, Done, Error};
    let failure = ModelError::new(ModelErrorKind::Rejected, "no");
    let fails = Answer { items: vec![Err(failure)], hangs: false };
    assert_eq!(ends_of_run(vec![fails]).await, [AgentStart, Error, Done]);
}

#[tokio::test]
async fn run_that_cannot_start_has_no_start() {
    let agent = Script::new(vec![Answer { items: Vec::new(), hangs: true }]).agent().build().unwrap();
    let mut first = agent.prompt("go");
    assert_eq!(first.next().await, Some(AgentEvent::AgentStart));
    let second: Vec<_> = agent.prompt("go").map(|event| event.kind()).collect().await;
    assert_eq!(second, [AgentEventKind::Error, AgentEventKind::Done]);
}

#[tokio::test]
async fn observers_see_changes_of_model_and_thinking() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let agent = whenever(Script::new(Vec::new()).agent(), move |agent, event| {
        // The agent is already changed, and free for other calls.
        log.lock().unwrap().push(format!("{} {}", agent.model(), line(event)));
    });
    agent.set_thinking(ThinkingLevel::High);
    agent.set_thinking(ThinkingLevel::High);
    agent.set_model(Script::new(Vec::new()));
    agent.set_model(Script::new(Vec::new()).named("other"));
    agent.set_active_tools(Some(Vec::new()));
    let expect = [
        r#"script/test {"type":"thinking_changed","level":"high"}"#,
        r#"script/other {"type":"model_changed","model":"script/other"}"#,
    ];
    assert_eq!(*heard.lock().unwrap(), expect);
}
