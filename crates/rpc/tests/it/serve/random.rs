//! Random conversations: each command is answered once, each prompt ends once, and no task is left,
//! whenever the client stops.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::time::sleep;

use crate::client::{Client, Drives};
use crate::played::Answer;
use crate::program::Program;

#[derive(Debug, Clone)]
enum Step {
    /// A command and the number of its session.
    Say(Value, Option<usize>),
    /// Reads lines after this many seconds.
    Pause(u64),
}

#[derive(Debug, Clone, Copy)]
enum EndRequest {
    Input,
    Shutdown,
    Signal,
}

fn command() -> impl Strategy<Value = Value> {
    let any = [
        json!({"type": "abort"}),
        json!({"type": "abort", "queued": true}),
        json!({"type": "steer", "message": "on"}),
        json!({"type": "follow_up", "message": "then"}),
        json!({"type": "interrupt", "hint": "enough"}),
        json!({"type": "take_queued"}),
        json!({"type": "wait_idle"}),
        json!({"type": "compact"}),
        json!({"type": "get_state"}),
        json!({"type": "get_messages"}),
        json!({"type": "clear"}),
        json!({"type": "move_to"}),
        json!({"type": "set_name", "name": "tidy"}),
        json!({"type": "append_entry", "kind": "k", "data": 1}),
        json!({"type": "send_message", "kind": "k", "content": "noon", "display": true}),
        json!({"type": "send_message", "kind": "k", "content": "on", "display": true, "when": "steer"}),
        json!({"type": "set_tags", "tags": {"a": "b"}}),
        json!({"type": "find_sessions", "tags": {"a": null}}),
        json!({"type": "set_model", "model": "two"}),
        json!({"type": "set_model", "model": "nine"}),
        json!({"type": "set_thinking", "level": "high"}),
        json!({"type": "set_tools", "tools": ["look"]}),
        json!({"type": "new_session"}),
        json!({"type": "fork"}),
        json!({"type": "close_session"}),
        json!({"type": "list_sessions"}),
        json!({"type": "tree"}),
        json!({"type": "list_commands"}),
        json!({"type": "run_command", "name": "review"}),
        json!({"type": "reload_ext"}),
        json!({"type": "ping"}),
    ];
    let said = prop::sample::select(vec!["go", "/review", "/review a", "look there"]);
    let prompt = said.prop_map(|said| json!({"type": "prompt", "message": said}));
    prop_oneof![2 => prompt, 3 => prop::sample::select(any.to_vec())]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (command(), prop::option::of(0..4usize)).prop_map(|(command, about)| Step::Say(command, about)),
        // A session is needed to switch to it.
        1 => (0..4usize).prop_map(|about| Step::Say(json!({"type": "switch_session"}), Some(about))),
        2 => (0..9u64).prop_map(Step::Pause),
    ]
}

fn answers() -> impl Iterator<Item = Answer> {
    (0..40).map(|number| match number % 4 {
        0 => Answer::Takes(number % 7, "late"),
        1 => Answer::Call("look", "{}"),
        2 => Answer::Fail("no"),
        _ => Answer::Pieces("a", 10),
    })
}

/// The sent commands by id, with the named sessions.
type Sent = BTreeMap<String, (String, Option<String>)>;

/// Runs the conversation and returns the sent and received lines.
async fn talk(drives: Drives, steps: &[Step], ends: EndRequest) -> (Sent, Vec<Value>) {
    let mut client = drives(Program::new(answers()));
    client.silent = true;
    let (mut sent, mut heard) = (Sent::new(), Vec::new());
    let mut sessions = vec![client.hello().await];
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Say(command, about) => {
                let mut command = command.clone();
                let kind = command["type"].as_str().unwrap().to_owned();
                // Of a prompt it is known where it is worked on.
                let about = about.or((kind == "prompt").then_some(0));
                let about = about.map(|about| sessions[about % sessions.len()].clone());
                command["id"] = number.to_string().into();
                if let Some(about) = &about {
                    command["session"] = about.clone().into();
                }
                client.send(command).await;
                sent.insert(number.to_string(), (kind, about));
            }
            Step::Pause(seconds) => {
                // sleep: virtual time
                sleep(Duration::from_secs(*seconds)).await;
                let news = client.all_there_is().await;
                let opened = news.iter().filter(|line| line["type"] == "session_opened");
                sessions.extend(opened.map(|line| line["session"].as_str().unwrap().to_owned()));
                heard.extend(news);
            }
        }
    }
    match ends {
        EndRequest::Input => client.stop_speaking(),
        EndRequest::Shutdown => client.send(json!({"type": "shutdown"})).await,
        EndRequest::Signal => client.cancel.cancel(),
    }
    while let Some(line) = client.next().await {
        heard.push(line);
    }
    client.ended().await.unwrap();
    (sent, heard)
}

/// Checks that each command is answered once, except those that a signal overtook.
fn check_replies(sent: &Sent, heard: &[Value], ends: EndRequest) {
    let mut open: BTreeSet<&str> = sent.keys().map(String::as_str).collect();
    for reply in heard.iter().filter(|line| line["type"] == "response") {
        let Some(id) = reply["id"].as_str() else { continue };
        assert!(open.remove(id), "{id} is answered twice: {reply}");
        assert_eq!(reply["command"], sent[id].0);
    }
    assert!(open.is_empty() || matches!(ends, EndRequest::Signal), "without an answer: {open:?}");
}

/// Checks that each prompt ends once in its session, and that no event follows the end of a
/// session.
fn check_events(sent: &Sent, heard: &[Value]) {
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    let mut closed: BTreeSet<&str> = BTreeSet::new();
    for line in heard {
        let session = line["session"].as_str();
        if let Some(session) = session {
            assert!(!closed.contains(session), "behind its end: {line}");
        }
        match (line["type"].as_str().unwrap(), session) {
            ("response", _) if line["command"] == "prompt" && line["success"] == true => {
                let session = sent[line["id"].as_str().unwrap()].1.as_deref().unwrap();
                let running = open.entry(session).or_default();
                *running += 1;
                assert_eq!(*running, 1, "two at a time: {line}");
            }
            ("done", Some(session)) => {
                let running = open.entry(session).or_default();
                *running -= 1;
                assert_eq!(*running, 0, "an end without a beginning: {line}");
            }
            ("session_closed", Some(session)) => {
                assert_eq!(open.get(session).copied().unwrap_or_default(), 0, "closed at work: {line}");
                closed.insert(session);
            }
            _ => {}
        }
    }
    let opened = heard.iter().filter(|line| line["type"] == "session_opened").count();
    assert_eq!(closed.len(), opened + 1, "each session is closed");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: (ProptestConfig::default().cases / 4).clamp(1, 300),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn each_command_is_answered_once_and_each_prompt_ends_once(
        steps in prop::collection::vec(step(), 0..40),
        ends in prop::sample::select(vec![EndRequest::Input, EndRequest::Shutdown, EndRequest::Signal]),
        drives in prop::sample::select(vec![Client::of as Drives, Client::local]),
    ) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (sent, heard) = runtime.block_on(async {
            let talked = talk(drives, &steps, ends).await;
            assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "tasks are left");
            talked
        });
        check_replies(&sent, &heard, ends);
        check_events(&sent, &heard);
    }
}
