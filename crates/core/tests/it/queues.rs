//! Tests of queued messages: their delivery, the reports about them, and that none is lost.

use std::sync::Arc;

use haft_core::error::TurnErrorKind;
use haft_core::tool::ToolOutput;
use haft_core::{Agent, Prompt, QueueDelivery, QueueError};
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;
use tokio_util::sync::CancellationToken;

use crate::fake::{Answer, Script, call, calls, line, run, says, tool, transcript};

/// Builds an agent that queues a message when the tool runs.
fn saying(script: &Script, said: impl Fn(&Agent) + Send + Sync + 'static) -> Agent {
    let slot: Arc<std::sync::OnceLock<Agent>> = Arc::default();
    let inside = slot.clone();
    let act = move |_: &str| {
        said(inside.get().unwrap());
        ToolOutput::text("done")
    };
    let agent = script.agent().tool(tool("echo", act)).build().unwrap();
    slot.set(agent.clone()).unwrap();
    agent
}

fn one_call() -> Answer {
    calls(vec![call("t1", "echo", "{}")])
}

#[tokio::test]
async fn steering_is_delivered_after_tools_before_the_next_request() {
    let script = Script::new(vec![one_call(), says("ok")]);
    let agent =
        saying(&script, |agent| assert_eq!(agent.steer("not there").unwrap(), QueueDelivery::Running));
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(
        transcript(&agent),
        ["user go", "assistant  echo{}", "tool t1 done", "user not there", "assistant ok "]
    );
    let measures = |line: &&str| line.contains("usage") || line.contains(r#""model_"#);
    let told: Vec<&str> = events.iter().map(String::as_str).filter(|line| !measures(line)).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    user go
    {"type":"turn_start","step":1}
    {"type":"assistant_start"}
    assistant 
    call t1 echo {}
    {"type":"queue_update","steering":["not there"],"follow_up":[],"next_turn":[]}
    result t1 done
    end ToolUse
    {"type":"steering_injected","count":1,"bytes":9}
    user not there
    {"type":"queue_update","steering":[],"follow_up":[],"next_turn":[]}
    {"type":"turn_start","step":2}
    {"type":"assistant_start"}
    delta ok
    assistant ok
    end End
    {"type":"done"}
    "#);
}

#[tokio::test]
async fn delivers_one_message_at_a_time_unless_configured() {
    let three = |agent: &Agent| {
        for text in ["a", "b", "c"] {
            let _ = agent.steer(text).unwrap();
        }
    };
    let script = Script::new(vec![one_call(), says("1"), says("2"), says("3")]);
    run(&saying(&script, three)).await.1.unwrap();
    assert_eq!(script.requests.lock().unwrap().len(), 4);

    let script = Script::new(vec![one_call(), says("1")]);
    let agent = script.agent().tool(tool("echo", |_| ToolOutput::text("x"))).build().unwrap();
    three(&agent);
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[..4], ["user a", "user b", "user c", "user go"]);
}

#[tokio::test]
async fn follow_up_starts_a_turn_with_its_own_step_count() {
    let script = Script::new(vec![one_call(), says("first"), says("second")]);
    let agent = saying(&script, |agent| {
        let _ = agent.follow_up("and then?").unwrap();
    });
    let (events, _) = run(&agent).await;
    assert_eq!(transcript(&agent)[3..], ["assistant first ", "user and then?", "assistant second "]);
    let steps: Vec<_> = events.iter().filter(|line| line.contains("turn_start")).collect();
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[2], r#"{"type":"turn_start","step":1}"#);
}

#[tokio::test]
async fn steering_without_tools_continues_before_follow_ups() {
    let script = Script::new(vec![one_call(), says("one"), says("two"), says("three")]);
    let agent = saying(&script, |agent| {
        let _ = agent.follow_up("later").unwrap();
        let _ = agent.steer("now").unwrap();
        let _ = agent.steer("now, too").unwrap();
    });
    run(&agent).await.1.unwrap();
    let said: Vec<_> = transcript(&agent).into_iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(said, ["user go", "user now", "user now, too", "user later"]);
}

#[tokio::test]
async fn next_turn_message_precedes_the_next_prompt() {
    let script = Script::new(vec![one_call(), says("one"), says("two")]);
    let agent =
        saying(&script, |agent| assert_eq!(agent.next_turn("too late").unwrap(), QueueDelivery::Running));
    assert_eq!(agent.next_turn("the tests ran").unwrap(), QueueDelivery::Idle);
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[..2], ["user the tests ran", "user go"]);
    assert_eq!(agent.queued_messages().next_turn, [Prompt::from("too late")]);
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[5..], ["user too late", "user go", "assistant two "]);
}

#[tokio::test]
async fn resume_processes_messages_queued_after_the_end() {
    let script = Script::new(vec![says("one"), says("two"), says("three")]);
    let agent = saying(&script, |_| ());
    run(&agent).await.1.unwrap();
    assert_eq!(agent.steer("late").unwrap(), QueueDelivery::Idle);
    assert_eq!(agent.follow_up("later").unwrap(), QueueDelivery::Idle);
    agent.resume().finish().await.unwrap();
    assert_eq!(transcript(&agent)[2..], ["user late", "assistant two ", "user later", "assistant three "]);
    assert!(agent.queued_messages().is_empty());
    assert_eq!(agent.resume().finish().await.unwrap_err().kind, TurnErrorKind::NothingToDo);
}

/// Queues a message at every event, including the events at the end of the run.
#[tokio::test]
async fn processes_message_queued_at_any_event() {
    for moment in 0.. {
        let script = Script::new(vec![one_call(), says("one"), says("two"), says("three")]);
        let agent = saying(&script, |_| ());
        let (mut at, mut queued, mut work) = (0, None, agent.prompt("go"));
        while work.next().await.is_some() {
            if at == moment {
                queued = Some(agent.follow_up("more").unwrap());
            }
            at += 1;
        }
        work.finish().await.unwrap();
        let Some(queued) = queued else { break };
        if queued == QueueDelivery::Idle {
            agent.resume().finish().await.unwrap();
        }
        assert_eq!(transcript(&agent)[4..], ["user more", "assistant two "], "at {moment}");
    }
}

/// Queues messages from another thread at arbitrary moments.
#[test]
fn message_of_another_thread_is_never_lost() {
    for _ in 0..200 {
        let script = Script::new((0..10).map(|_| says("ok")).collect());
        let agent = script.agent().build().unwrap();
        let other = agent.clone();
        let sender = std::thread::spawn(move || {
            let said = (0..4).map(|n| other.follow_up(format!("m{n}")).unwrap());
            said.collect::<Vec<_>>()
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(agent.prompt("go").finish()).unwrap();
        let queued = sender.join().unwrap();
        let left = agent.queued_messages().follow_up.len();
        let all_idle = queued.iter().rev().take(left).all(|queued| *queued == QueueDelivery::Idle);
        assert!(all_idle, "{left} of {queued:?} are left, although the run reported that it takes them");
        if left > 0 {
            runtime.block_on(agent.resume().finish()).unwrap();
        }
        let users = agent.messages().iter().filter(|message| matches!(message, Message::User { .. })).count();
        assert_eq!((users, agent.queued_messages().is_empty()), (5, true));
    }
}

#[tokio::test]
async fn aborted_run_keeps_queued_messages() {
    let script = Script::new(vec![one_call(), says("back")]);
    let cancel: Arc<std::sync::OnceLock<CancellationToken>> = Arc::default();
    let stop = cancel.clone();
    let agent = saying(&script, move |agent| {
        let _ = agent.steer("not there").unwrap();
        let _ = agent.follow_up("then this").unwrap();
        stop.get().unwrap().cancel();
    });
    let work = agent.prompt("go");
    cancel.set(work.cancellation_token()).unwrap();
    assert_eq!(work.finish().await.unwrap_err().kind, TurnErrorKind::Aborted);
    let taken = agent.take_queued();
    assert_eq!(taken.steering, [Prompt::from("not there")]);
    assert_eq!(taken.follow_up, [Prompt::from("then this")]);
    assert!(agent.queued_messages().is_empty());
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent).last().unwrap(), "assistant back ");
}

#[tokio::test]
async fn queue_rejects_overflow_and_empty_messages() {
    let agent = Script::default().agent().build().unwrap();
    for _ in 0..64 {
        let _ = agent.steer("x").unwrap();
    }
    let full = agent.steer("x").unwrap_err();
    assert_eq!(full, QueueError::Full { limit: 64 });
    assert_eq!(full.to_string(), "the queue is full (64 messages); wait for the agent or remove a message");
    assert_eq!(agent.follow_up(" \n").unwrap_err(), QueueError::Empty);
}

#[tokio::test]
async fn observers_see_queue_changes() {
    let script = Script::new(vec![Answer { items: vec![], hangs: true }]);
    let agent = script.agent().build().unwrap();
    let mut work = agent.prompt("go");
    work.next().await;
    let image = ContentBlock::Image(Image { mime_type: "image/png".into(), data: "AAAA".into() });
    let _ = agent.steer(vec![ContentBlock::text("look"), image]).unwrap();
    let _ = agent.follow_up("then").unwrap();
    let _ = agent.next_turn("next").unwrap();
    agent.take_queued();
    let mut told = Vec::new();
    while told.len() < 4 {
        let event = work.next().await.unwrap();
        if matches!(event, AgentEvent::QueueUpdate { .. }) {
            told.push(line(&event));
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    {"type":"queue_update","steering":["look\n[image]"],"follow_up":[],"next_turn":[]}
    {"type":"queue_update","steering":["look\n[image]"],"follow_up":["then"],"next_turn":[]}
    {"type":"queue_update","steering":["look\n[image]"],"follow_up":["then"],"next_turn":["next"]}
    {"type":"queue_update","steering":[],"follow_up":[],"next_turn":[]}
    "#);
}
