//! Questions of extensions to the person: a gate that asks, and all ways in which its question ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use haft_host::{Frontend, Host};
use haft_protocol::ext::{AskAnswer, AskCall, AskEnd, UiAnswer};
use haft_protocol::ids::ExtensionName;
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agency, Ran};
use crate::support::{Events, builder, fault};

/// The time that the person takes.
const THINKS: Duration = Duration::from_secs(90);

/// A person who answers after [`THINKS`], or never.
#[derive(Debug)]
struct Person {
    answer: Option<AskAnswer>,
    log: Mutex<Vec<String>>,
}

impl Person {
    fn new(answer: Option<AskAnswer>) -> Arc<Self> {
        Arc::new(Self { answer, log: Mutex::default() })
    }

    fn note(&self, text: String) {
        self.log.lock().unwrap().push(text);
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

struct Withdrawn<'a>(&'a Person);

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        self.0.note("withdrawn".to_owned());
    }
}

#[async_trait]
impl Frontend for Person {
    async fn ask(&self, _: &CancellationToken, extension: &ExtensionName, ask: &AskCall) -> AskAnswer {
        self.note(format!("{extension} {}: {}", ask.kind(), ask.title()));
        let withdrawn = Withdrawn(self);
        let Some(answer) = &self.answer else { std::future::pending().await };
        // sleep: virtual time
        sleep(THINKS).await;
        std::mem::forget(withdrawn);
        answer.clone()
    }
}

fn chosen(option: &str) -> AskAnswer {
    AskAnswer { answer: UiAnswer::Value(option.into()), why: AskEnd::Answered }
}

/// Returns a host with the gates `asker` and `other`.
async fn two_gates(person: Option<&Arc<Person>>) -> (Host, FakePeer, FakePeer, Events) {
    let events = Events::default();
    let gate = json!({"type": "subscribe", "intercept": [{"event": "tool_call", "role": "gate"}]});
    let (mut asker, reader, writer) = FakePeer::pair();
    let mut builder = builder(&events).streams("asker", reader, writer);
    let (mut other, reader, writer) = FakePeer::pair();
    builder = builder.streams("other", reader, writer);
    if let Some(person) = person {
        builder = builder.frontend(Arc::clone(person) as _);
    }
    let greet = asker.greet("asker", [gate.clone()]);
    let (host, (), ()) = tokio::join!(builder.start(), greet, other.greet("other", [gate]));
    (host, asker, other, events)
}

/// Asks under a question of the host, and returns the question and the result.
async fn ask_under_gate(asker: &mut FakePeer) -> (Value, Value) {
    let question = asker.expect("event_intercept").await;
    let args = json!({"title": "Allow?", "options": ["Yes", "No"]});
    asker.send(json!({"type": "host_call", "id": "c1", "call": "select", "args": args})).await;
    (question, asker.expect("host_result").await)
}

/// Runs a call while `asker` asks the person and allows it after the answer "Yes"; `other` answers after this time.
async fn run_asking(
    host: &Host,
    asker: &mut FakePeer,
    other: &mut FakePeer,
    after: Duration,
) -> (Ran, Value) {
    let agency = Agency::new(host, [("bash", json!({"command": "ls"}))]);
    let (ran, result, ()) = tokio::join!(agency.run(), obey_person(asker), allow_after(other, after));
    (ran, result)
}

async fn obey_person(asker: &mut FakePeer) -> Value {
    let (question, result) = ask_under_gate(asker).await;
    let allowed = result["value"]["value"] == json!("Yes");
    let answer = json!({"block": !allowed, "reason": "the person said no"});
    asker.answer(&question, "event_intercept_response", answer).await;
    result["value"].clone()
}

async fn allow_after(other: &mut FakePeer, after: Duration) {
    let question = other.expect("event_intercept").await;
    // sleep: virtual time
    sleep(after).await;
    other.answer(&question, "event_intercept_response", json!({"block": false})).await;
}

#[tokio::test(start_paused = true)]
async fn gate_waits_for_a_person_longer_than_its_deadline() {
    for (option, executions) in [("Yes", 1), ("No", 0)] {
        let person = Person::new(Some(chosen(option)));
        let (host, mut asker, mut other, events) = two_gates(Some(&person)).await;
        let begun = Instant::now();
        let (ran, value) = run_asking(&host, &mut asker, &mut other, Duration::from_secs(4)).await;
        assert_eq!(value, json!({"value": option, "why": "answered"}));
        assert_eq!(ran.executions, executions, "{:?}", ran.blocks());
        assert_eq!((begun.elapsed(), events.faults()), (THINKS, vec![]));
        assert_eq!(person.log(), ["asker select: Allow?"]);
    }
}

#[tokio::test(start_paused = true)]
async fn other_gates_keep_their_deadline_while_a_person_is_asked() {
    let person = Person::new(Some(chosen("Yes")));
    let (host, mut asker, mut other, events) = two_gates(Some(&person)).await;
    let begun = Instant::now();
    let agency = Agency::new(&host, [("bash", json!({"command": "ls"}))]);
    let (ran, _, ()) =
        tokio::join!(agency.run(), obey_person(&mut asker), allow_after(&mut other, Duration::from_secs(6)));
    assert_eq!((ran.executions, ran.blocks().len()), (0, 1));
    assert_eq!(events.faults(), [fault("other", "hook_timeout")]);
    assert_eq!(begun.elapsed(), THINKS);
}

#[tokio::test(start_paused = true)]
async fn question_without_person_ends_at_once() {
    let (host, mut asker, mut other, _) = two_gates(None).await;
    let begun = Instant::now();
    let (ran, value) = run_asking(&host, &mut asker, &mut other, Duration::ZERO).await;
    assert_eq!(value, json!({"cancelled": true, "why": "no_person"}));
    assert_eq!((ran.executions, begun.elapsed()), (0, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn question_closed_by_the_person_has_no_answer() {
    let closed = AskAnswer { answer: UiAnswer::Cancelled, why: AskEnd::Cancelled };
    let (host, mut asker, mut other, _) = two_gates(Some(&Person::new(Some(closed)))).await;
    let (ran, value) = run_asking(&host, &mut asker, &mut other, Duration::ZERO).await;
    assert_eq!(value, json!({"cancelled": true, "why": "cancelled"}));
    assert_eq!(ran.executions, 0);
}

/// What ends a question that the person never answers.
#[derive(Debug, Clone, Copy)]
enum Ending {
    RunCancelled,
    CallCancelled,
    ExtensionGone,
    HostStopped,
}

#[tokio::test(start_paused = true)]
async fn question_is_withdrawn_when_nobody_waits_for_it() {
    for ending in [Ending::RunCancelled, Ending::CallCancelled, Ending::ExtensionGone, Ending::HostStopped] {
        let person = Person::new(None);
        let (host, mut asker, mut other, _) = two_gates(Some(&person)).await;
        let agency = Agency::new(&host, [("bash", json!({"command": "ls"}))]);
        let run = agency.start();
        let cancel = run.cancellation_token();
        let end = async {
            let question = asker.expect("event_intercept").await;
            let args = json!({"title": "Allow?"});
            asker.send(json!({"type": "host_call", "id": "c1", "call": "confirm", "args": args})).await;
            // sleep: virtual time
            sleep(THINKS).await;
            assert_eq!(person.log(), ["asker confirm: Allow?"], "{ending:?}");
            match ending {
                Ending::RunCancelled => cancel.cancel(),
                Ending::CallCancelled => {
                    asker.send(json!({"type": "host_call_cancel", "id": "c1"})).await;
                    let result = asker.expect("host_result").await;
                    assert_eq!(result["value"], json!({"confirmed": false, "why": "cancelled"}));
                    asker.answer(&question, "event_intercept_response", json!({"block": true})).await;
                }
                Ending::ExtensionGone => return None,
                Ending::HostStopped => host.shutdown().await,
            }
            Some(asker)
        };
        let (ran, _asker, ()) =
            tokio::join!(agency.finish(run), end, allow_after(&mut other, Duration::ZERO));
        assert_eq!(ran.executions, 0, "{ending:?}");
        host.shutdown().await;
        assert_eq!(person.log(), ["asker confirm: Allow?", "withdrawn"], "{ending:?}");
    }
}
