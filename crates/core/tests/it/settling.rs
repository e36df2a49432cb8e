//! Tests of the hooks before a run ends.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::hooks::{BeforeSettle, CancellationToken, MAX_CONTINUATIONS, SettleDecision, SettlingRun};
use haft_core::{Agent, QueueDelivery};

use crate::fake::{Script, run, says, transcript};

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
    let about = |text: &str, continued| SettlingRun { text: text.into(), continued };
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
