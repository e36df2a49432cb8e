//! Tests of run handles: queuing messages, aborting, waiting, and the binding to one run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use haft_core::error::{TurnError, TurnErrorKind};
use haft_core::model::ModelEvent;
use haft_core::tool::ToolOutput;
use haft_core::{Agent, QueueDelivery, QueueError, Run, RunHandle};
use haft_protocol::event::AgentEvent;

use crate::fake::{Answer, Script, call, calls, says, tool, transcript};

fn hangs() -> Answer {
    Answer { items: vec![Ok(ModelEvent::Text("half".into()))], hangs: true }
}

fn agent(answers: Vec<Answer>) -> Agent {
    Script::new(answers).agent().build().unwrap()
}

/// Runs until the first piece of an answer arrives.
async fn begin(run: &mut Run) {
    while !matches!(run.next().await, Some(AgentEvent::TextDelta { .. })) {}
}

fn aborted() -> TurnErrorKind {
    TurnErrorKind::Aborted
}

fn kind(outcome: Result<(), TurnError>) -> TurnErrorKind {
    outcome.unwrap_err().kind
}

fn is_shareable<T: Send + Sync + Clone + 'static>(_: &T) {}

#[tokio::test]
async fn all_waiters_receive_the_same_outcome() {
    let agent = agent(vec![says("ok")]);
    let run = agent.prompt("go");
    let handle = run.handle();
    is_shareable(&handle);
    let waiting: Vec<_> = (0..3).map(|_| handle.clone()).map(|one| async move { one.wait().await }).collect();
    let waiting: Vec<_> = waiting.into_iter().map(tokio::spawn).collect();
    assert!(!handle.is_over());
    assert_eq!(run.finish().await, Ok(()));
    for waited in waiting {
        assert_eq!(waited.await.unwrap(), Ok(()));
    }
    assert!(handle.is_over());
    // Later waiters receive the same outcome, even after the agent is dropped.
    drop(agent);
    assert_eq!(handle.wait().await, Ok(()));
}

#[tokio::test]
async fn outcome_contains_the_failed_step() {
    let agent = Script::new(vec![calls(vec![call("t1", "echo", "{}")])])
        .agent()
        .tool(tool("echo", |_| ToolOutput::text("done")))
        .max_steps(1)
        .build()
        .unwrap();
    let run = agent.prompt("go");
    let handle = run.handle();
    let outcome = run.finish().await;
    assert_eq!(outcome.clone().unwrap_err().kind, TurnErrorKind::MaxSteps { limit: 1 });
    assert_eq!(handle.wait().await, outcome);
}

#[tokio::test]
async fn second_run_ends_as_busy() {
    let agent = agent(vec![hangs()]);
    let mut first = agent.prompt("go");
    begin(&mut first).await;
    let second = agent.prompt("too early");
    let handle = second.handle();
    assert_eq!(handle.steer("you"), Err(QueueError::NotUnderWay));
    assert!(!handle.interrupt("you"));
    assert_eq!(kind(second.finish().await), TurnErrorKind::Busy);
    assert_eq!(kind(handle.wait().await), TurnErrorKind::Busy);
    handle.abort();
    assert!(!first.handle().is_over());
}

#[tokio::test]
async fn another_task_can_abort_the_run() {
    let agent = agent(vec![hangs(), says("back")]);
    let mut run = agent.prompt("go");
    let handle = run.handle();
    begin(&mut run).await;
    let work = tokio::spawn(run.finish());
    let waited = tokio::spawn({
        let handle = handle.clone();
        async move {
            handle.abort();
            handle.wait().await
        }
    });
    assert_eq!(kind(waited.await.unwrap()), aborted());
    assert_eq!(kind(work.await.unwrap()), aborted());
    assert_eq!(transcript(&agent), ["user go", "assistant half "]);
    // The run has ended, so that the handle does not affect a later run.
    handle.abort();
    assert_eq!(agent.prompt("again").finish().await, Ok(()));
}

#[tokio::test]
async fn abort_before_the_start_takes_effect() {
    let agent = agent(vec![]);
    let run = agent.prompt("go");
    run.handle().abort();
    assert_eq!(kind(run.finish().await), aborted());
}

/// After waiting, the agent is free for the next prompt and the transcript is valid.
#[tokio::test]
async fn dropped_run_counts_as_aborted() {
    let agent = agent(vec![hangs(), says("back")]);
    let mut run = agent.prompt("go");
    begin(&mut run).await;
    let handle = run.handle();
    let next = tokio::spawn({
        let (agent, handle) = (agent.clone(), handle.clone());
        async move {
            let outcome = handle.wait().await;
            (kind(outcome), agent.prompt("again").finish().await)
        }
    });
    assert_eq!(handle.wait().now_or_never(), None);
    drop(run);
    assert_eq!(next.await.unwrap(), (aborted(), Ok(())));
    assert!(handle.is_over());
    assert_eq!(transcript(&agent)[1], "assistant half ");
}

#[tokio::test]
async fn unstarted_run_counts_as_aborted_when_dropped() {
    let agent = agent(vec![]);
    let handle = agent.prompt("go").handle();
    assert!(handle.is_over());
    assert_eq!(kind(handle.wait().await), aborted());
    assert_eq!(handle.steer("you"), Err(QueueError::NotUnderWay));
    assert!(agent.queued_messages().is_empty());
}

#[tokio::test]
async fn handle_queues_messages_during_the_run() {
    let script = Script::new(vec![says("one"), says("two"), says("three")]);
    let slot: Arc<Mutex<Option<RunHandle>>> = Arc::default();
    let (inside, seen) = (slot.clone(), AtomicUsize::new(0));
    let agent = crate::fake::whenever(script.agent(), move |_, event| {
        if matches!(event, AgentEvent::TurnStart { .. }) && seen.fetch_add(1, Ordering::Relaxed) == 0 {
            let handle = inside.lock().unwrap().clone().unwrap();
            assert_eq!(handle.follow_up("then"), Ok(()));
            assert_eq!(handle.steer("rather"), Ok(()));
            assert_eq!(handle.steer(" "), Err(QueueError::Empty));
        }
    });
    let run = agent.prompt("go");
    let handle = run.handle();
    *slot.lock().unwrap() = Some(handle.clone());
    // Before the run starts, the message is placed in front of the prompt.
    assert_eq!(handle.steer("first"), Ok(()));
    assert_eq!(run.finish().await, Ok(()));
    assert_eq!(
        transcript(&agent),
        [
            "user first",
            "user go",
            "assistant one ",
            "user rather",
            "assistant two ",
            "user then",
            "assistant three "
        ]
    );
}

/// The agent keeps messages for the next run, but the handle of an ended run rejects them and does not affect a later
/// run.
#[tokio::test]
async fn handle_of_an_ended_run_rejects_messages() {
    let agent = agent(vec![says("ok"), hangs()]);
    let first = agent.prompt("go");
    let over = first.handle();
    assert_eq!(first.finish().await, Ok(()));
    let mut second = agent.prompt("again");
    begin(&mut second).await;
    assert_eq!(over.steer("you"), Err(QueueError::NotUnderWay));
    assert_eq!(over.follow_up("you"), Err(QueueError::NotUnderWay));
    assert!(!over.interrupt("stop"));
    assert!(agent.queued_messages().is_empty());
    assert_eq!(second.handle().steer("you"), Ok(()));
    assert_eq!(agent.steer("you, too").unwrap(), QueueDelivery::Running);
    assert!(second.handle().interrupt("stop"));
}

/// A tool interrupts the run: the model is asked once more.
#[tokio::test]
async fn interrupt_ends_the_run_of_the_handle() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("so far")]);
    let slot: Arc<Mutex<Option<RunHandle>>> = Arc::default();
    let inside = slot.clone();
    let echo = tool("echo", move |_| {
        assert!(inside.lock().unwrap().as_ref().unwrap().interrupt("sum up"));
        ToolOutput::text("done")
    });
    let agent = script.agent().tool(echo).build().unwrap();
    let run = agent.prompt("go");
    *slot.lock().unwrap() = Some(run.handle());
    assert_eq!(run.answer().await, Ok("so far".into()));
}

#[tokio::test]
async fn handle_does_not_keep_the_agent_alive() {
    let agent = agent(vec![says("ok")]);
    let alive = Arc::downgrade(&agent.messages());
    assert_eq!(alive.strong_count(), 1);
    let run = agent.prompt("go");
    let handle = run.handle();
    drop((run, agent));
    assert_eq!(alive.strong_count(), 0);
    assert!(handle.is_over());
}
