//! A run from elsewhere: saying more to it, aborting it, waiting for it, and that it is this run and no other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::{FutureExt, StreamExt};
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

/// Works until the first piece of an answer is there.
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
async fn everybody_who_waits_is_told_the_same() {
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
    // Also who asks later, and when the agent is gone.
    drop(agent);
    assert_eq!(handle.wait().await, Ok(()));
}

#[tokio::test]
async fn a_failure_is_told_with_its_step() {
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
async fn a_run_that_found_the_agent_busy_ends_as_that() {
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
async fn another_task_aborts_it() {
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
    // It is over; a later run is none of its business.
    handle.abort();
    assert_eq!(agent.prompt("again").finish().await, Ok(()));
}

#[tokio::test]
async fn an_abort_before_the_beginning_counts() {
    let agent = agent(vec![]);
    let run = agent.prompt("go");
    run.handle().abort();
    assert_eq!(kind(run.finish().await), aborted());
}

/// Whoever waits finds the agent free for the next prompt, and the transcript in order.
#[tokio::test]
async fn a_dropped_run_was_aborted() {
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
async fn a_run_that_never_began_was_aborted_when_it_is_dropped() {
    let agent = agent(vec![]);
    let handle = agent.prompt("go").handle();
    assert!(handle.is_over());
    assert_eq!(kind(handle.wait().await), aborted());
    assert_eq!(handle.steer("you"), Err(QueueError::NotUnderWay));
    assert!(agent.queued_messages().is_empty());
}

#[tokio::test]
async fn it_is_said_more_while_it_works() {
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
    // Before the beginning, too: ahead of the prompt.
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

/// What the agent keeps for the next run, a handle of a run that is over refuses; and a later run is not its business.
#[tokio::test]
async fn nothing_is_said_to_another_run() {
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

/// A tool ends the run from inside, in good order: the model is asked once more.
#[tokio::test]
async fn an_interrupt_ends_this_run() {
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
async fn the_handle_keeps_no_agent_alive() {
    let agent = agent(vec![says("ok")]);
    let alive = Arc::downgrade(&agent.messages());
    assert_eq!(alive.strong_count(), 1);
    let run = agent.prompt("go");
    let handle = run.handle();
    drop((run, agent));
    assert_eq!(alive.strong_count(), 0);
    assert!(handle.is_over());
}
