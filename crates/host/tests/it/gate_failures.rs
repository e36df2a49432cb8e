//! Every kind of failure of a gate, with and without a person: the call does not run. Also tests gates that
//! keep failing.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::error::{TurnError, TurnErrorKind};
use haft_host::{FailingGate, Frontend, GateChoice, Host};
use haft_packages::{ExtensionSpec, GuardRoles, LaunchPlan};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::InterceptKind;
use haft_protocol::ids::ExtensionName;
use haft_test_support::FakePeer;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agency, Ran};
use crate::support::{Events, builder, host_with, host_with_two, spec};

/// A person who always gives the same answer, with the received questions.
#[derive(Debug)]
struct Person {
    choice: GateChoice,
    asked: Mutex<Vec<FailingGate>>,
}

#[async_trait]
impl Frontend for Person {
    async fn ask_about_failing_gate(&self, _: &CancellationToken, failing: &FailingGate) -> GateChoice {
        self.asked.lock().unwrap().push(failing.clone());
        self.choice
    }
}

impl Person {
    fn new(choice: GateChoice) -> Arc<Self> {
        Arc::new(Self { choice, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<FailingGate> {
        self.asked.lock().unwrap().clone()
    }
}

/// The hooks that decide about tool calls.
const DECIDING: [InterceptKind; 2] = [InterceptKind::ToolCall, InterceptKind::Approve];

/// Returns a host with a gate in memory, and a person if there is one.
async fn guarded(hook: InterceptKind, person: Option<&Arc<Person>>) -> (Host, FakePeer, Events) {
    let events = Events::default();
    let (mut guard, reader, writer) = FakePeer::pair();
    let mut builder = builder(&events).streams("guard", reader, writer);
    if let Some(person) = person {
        builder = builder.frontend(Arc::clone(person) as _);
    }
    let gate = json!({"type": "subscribe", "intercept": [{"event": hook.name(), "role": "gate"}]});
    let (host, ()) = tokio::join!(builder.start(), guard.greet("guard", [gate]));
    (host, guard, events)
}

/// Returns a host whose required gate cannot be started.
async fn never_started(hook: InterceptKind, person: Option<&Arc<Person>>) -> Host {
    let roles = GuardRoles { required: true, gates: vec![hook], ..GuardRoles::default() };
    let launch = LaunchPlan::Impossible { why: "cannot be started: no such file".into() };
    let never = ExtensionSpec { roles, ..spec("guard", Path::new("/"), launch) };
    let mut builder = builder(&Events::default()).specs(vec![never]);
    if let Some(person) = person {
        builder = builder.frontend(Arc::clone(person) as _);
    }
    builder.start().await
}

/// A kind of failure of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    Timeout,
    MissingResponse,
    Error,
    Garbage,
    WrongTypes,
    WrongKind,
    TruncatedJson,
    Exit,
    NotDelivered,
    Cancelled,
    Disabled,
    NeverStarted,
}

impl Failure {
    const ALL: [Self; 12] = [
        Self::Timeout,
        Self::MissingResponse,
        Self::Error,
        Self::Garbage,
        Self::WrongTypes,
        Self::WrongKind,
        Self::TruncatedJson,
        Self::Exit,
        Self::NotDelivered,
        Self::Cancelled,
        Self::Disabled,
        Self::NeverStarted,
    ];

    /// Plays the gate for one call; continues while the gate exists.
    async fn play(self, mut guard: FakePeer, cancel: CancellationToken) {
        if matches!(self, Self::Disabled | Self::NeverStarted | Self::NotDelivered) {
            // The pipe is not read, so it is full before the query was written.
            return std::future::pending().await;
        }
        let question = guard.expect("event_intercept").await;
        let respond = "event_intercept_response";
        match self {
            Self::MissingResponse => guard.send(json!({"type": "clear_notes"})).await,
            Self::Error => {
                guard.answer(&question, respond, json!({"block": false, "error": "no disk"})).await
            }
            Self::Garbage => guard.send_raw(b"allow!\n").await,
            Self::WrongTypes => guard.answer(&question, respond, json!({"block": "false"})).await,
            Self::WrongKind => guard.answer(&question, "tool_result", json!({"content": []})).await,
            Self::TruncatedJson => {
                guard.send_raw(br#"{"type":"event_intercept_response","block":fal"#).await;
                return;
            }
            Self::Exit => return,
            Self::Cancelled => cancel.cancel(),
            Self::Timeout | Self::NotDelivered | Self::Disabled | Self::NeverStarted => {}
        }
        while guard.next().await.is_some() {}
    }
}

/// Returns the outcome of one call under this failure.
async fn one_call(hook: InterceptKind, failure: Failure, person: Option<&Arc<Person>>) -> Ran {
    let (mut host, guard, _) = guarded(hook, person).await;
    if failure == Failure::NeverStarted {
        host = never_started(hook, person).await;
    } else if failure == Failure::Disabled {
        host.shutdown().await;
    }
    let command = if failure == Failure::NotDelivered { "x".repeat(200_000) } else { "ls".to_owned() };
    let agency = Agency::new(&host, [("bash", json!({"command": command}))]);
    let run = agency.start();
    let playing = failure.play(guard, run.cancellation_token());
    let (ran, ()) = tokio::join!(agency.finish(run), async {
        // The run ends within its deadlines for every behavior of the gate.
        tokio::time::timeout(Duration::from_secs(100), playing).await.ok();
    });
    ran
}

#[tokio::test(start_paused = true)]
async fn every_failure_of_a_gate_blocks_with_and_without_a_person() {
    for (hook, failure) in DECIDING.into_iter().flat_map(|hook| Failure::ALL.map(|failure| (hook, failure))) {
        let person = Person::new(GateChoice::ContinueWithout);
        for interactive in [None, Some(&person)] {
            let ran = one_call(hook, failure, interactive).await;
            assert_eq!(ran.executions, 0, "{hook:?} {failure:?}");
            let cancelled = failure == Failure::Cancelled;
            let blocks: Vec<String> = ran.blocks().into_iter().map(|(by, _)| by).collect();
            let expect: Vec<String> = if cancelled { vec![] } else { vec!["guard".to_owned()] };
            assert_eq!(blocks, expect, "{hook:?} {failure:?}");
            assert_eq!(ran.outcome.is_err(), cancelled, "{failure:?}: {:?}", ran.outcome);
        }
        assert_eq!(person.asked(), [], "{failure:?}: asked after a single failure");
    }
}

/// Makes many calls under a gate that has ended.
async fn many_calls(calls: usize, person: Option<&Arc<Person>>) -> (Ran, Host, Events) {
    many_calls_under(InterceptKind::ToolCall, calls, person).await
}

async fn many_calls_under(
    hook: InterceptKind,
    calls: usize,
    person: Option<&Arc<Person>>,
) -> (Ran, Host, Events) {
    let (host, guard, events) = guarded(hook, person).await;
    drop(guard);
    let ran = Agency::new(&host, (0..calls).map(|_| ("bash", json!({"command": "ls"})))).run().await;
    (ran, host, events)
}

#[tokio::test(start_paused = true)]
async fn third_failure_stops_run_without_person() {
    let (ran, host, _) = many_calls(5, None).await;
    assert_eq!((ran.executions, ran.blocks().len()), (0, 3));
    let Err(TurnError { kind: TurnErrorKind::Stopped { by, reason }, .. }) = ran.outcome else {
        panic!("{:?}", ran.outcome)
    };
    assert_eq!(by, "guard");
    insta::assert_snapshot!(reason, @"the gate keeps failing: closed the connection");
    // Later calls are blocked without a question while the gate does not work.
    let again = Agency::new(&host, [("bash", json!({"command": "ls"}))]).run().await;
    assert!(matches!(again.outcome, Err(TurnError { kind: TurnErrorKind::Stopped { .. }, .. })));
}

#[tokio::test(start_paused = true)]
async fn person_can_continue_without_gate() {
    for hook in DECIDING {
        let person = Person::new(GateChoice::ContinueWithout);
        let (ran, host, events) = many_calls_under(hook, 5, Some(&person)).await;
        assert_eq!((ran.executions, ran.blocks().len(), ran.outcome), (2, 3, Ok(())), "{hook:?}");
        let asked = person.asked();
        assert_eq!((asked.len(), asked[0].failures), (1, 3));
        assert_eq!(asked[0].extension, ExtensionName::new("guard"));
        let off = |event: &AgentEvent| matches!(event, AgentEvent::GateOff { extension, .. } if extension.as_str() == "guard");
        assert_eq!(events.all().iter().filter(|event| off(event)).count(), 1);
        assert!(host.statuses().iter().all(|status| status.gates_off));
    }
}

#[tokio::test(start_paused = true)]
async fn person_can_stop_or_restart() {
    let person = Person::new(GateChoice::Stop);
    let (ran, _, _) = many_calls(5, Some(&person)).await;
    assert!(matches!(ran.outcome, Err(TurnError { kind: TurnErrorKind::Stopped { .. }, .. })));
    assert_eq!((ran.executions, person.asked().len()), (0, 1));

    // A pair of streams cannot be restarted: it stays unchanged, and so do the blocks.
    let person = Person::new(GateChoice::Restart);
    let (ran, host, _) = many_calls(9, Some(&person)).await;
    assert_eq!((ran.executions, ran.blocks().len(), ran.outcome), (0, 9, Ok(())));
    assert_eq!(person.asked().len(), 1);
    assert!(host.statuses().iter().all(|status| !status.gates_off));
}

#[tokio::test(start_paused = true)]
async fn answer_resets_failure_count() {
    for hook in DECIDING {
        check_reset(hook).await;
    }
}

/// Two failures, an answer, two failures, an answer.
async fn check_reset(hook: InterceptKind) {
    let (host, mut guard, _) = guarded(hook, None).await;
    let agency = Agency::new(&host, (0..6).map(|_| ("bash", json!({"command": "ls"}))));
    let playing = async {
        for answer in ["no", "no", "yes", "no", "no", "yes"] {
            let question = guard.expect("event_intercept").await;
            let fields = if answer == "yes" { json!({"block": false}) } else { json!({"block": "no"}) };
            guard.answer(&question, "event_intercept_response", fields).await;
        }
    };
    let (ran, ()) = tokio::join!(agency.run(), playing);
    assert_eq!((ran.executions, ran.blocks().len(), ran.outcome), (2, 4, Ok(())));
}

/// Answers every intercept with these fields in turn, from the start again after the last, until the host has
/// ended.
async fn answer_in_turn(mut peer: FakePeer, fields: &[serde_json::Value]) {
    let mut fields = fields.iter().cycle();
    while let Some(frame) = peer.next().await {
        if frame["type"] == "event_intercept" {
            peer.answer(&frame, "event_intercept_response", fields.next().unwrap().clone()).await;
        }
    }
}

#[track_caller]
fn check_stopped(ran: &Ran, by: &str) {
    let Err(TurnError { kind: TurnErrorKind::Stopped { by: stopper, .. }, .. }) = &ran.outcome else {
        panic!("{:?}", ran.outcome)
    };
    assert_eq!((stopper.as_str(), ran.executions, ran.blocks().len()), (by, 0, 3));
}

#[tokio::test(start_paused = true)]
async fn invalid_rewrites_count_as_failures_in_a_row() {
    let plain = json!({"type": "subscribe", "intercept": ["tool_call"]});
    let (host, peer, _) = host_with("rewriter", [plain]).await;
    let agency = Agency::new(&host, (0..6).map(|_| ("bash", json!({"command": "ls"}))));
    let unfit = [json!({"modified_args": {"command": 7}})];
    let (ran, ()) = tokio::join!(
        async {
            let ran = agency.run().await;
            host.shutdown().await;
            ran
        },
        answer_in_turn(peer, &unfit)
    );
    check_stopped(&ran, "rewriter");
}

#[tokio::test(start_paused = true)]
async fn valid_rewrite_resets_failure_count() {
    let plain = json!({"type": "subscribe", "intercept": ["tool_call"]});
    let (host, peer, _) = host_with("rewriter", [plain]).await;
    let agency = Agency::new(&host, (0..6).map(|_| ("bash", json!({"command": "ls"}))));
    let (unfit, fit) =
        (json!({"modified_args": {"command": 7}}), json!({"modified_args": {"command": "ls -1"}}));
    let answers = [unfit.clone(), unfit, fit];
    let (ran, ()) = tokio::join!(
        async {
            let ran = agency.run().await;
            host.shutdown().await;
            ran
        },
        answer_in_turn(peer, &answers)
    );
    assert_eq!((ran.executions, ran.blocks().len(), ran.outcome), (2, 4, Ok(())));
}

#[tokio::test(start_paused = true)]
async fn failures_on_second_query_count_in_a_row() {
    let plain = || json!({"type": "subscribe", "intercept": ["tool_call"]});
    let (host, [guard, rewriter], _) = host_with_two(("guard", [plain()]), ("rewriter", [plain()])).await;
    let agency = Agency::new(&host, (0..6).map(|_| ("bash", json!({"command": "ls"}))));
    let answers = [json!({"block": false}), json!({"block": "no"})];
    let rewrite = [json!({"modified_args": {"command": "ls -1"}})];
    let (ran, (), ()) = tokio::join!(
        async {
            let ran = agency.run().await;
            host.shutdown().await;
            ran
        },
        answer_in_turn(guard, &answers),
        answer_in_turn(rewriter, &rewrite)
    );
    check_stopped(&ran, "guard");
}

#[tokio::test(start_paused = true)]
async fn unrelated_call_does_not_reset_failure_count() {
    let gate = json!({"type": "subscribe", "intercept": [{"event": "tool_call", "tools": ["bash"], "role": "gate"}]});
    let other = json!({"type": "register_tool", "name": "other", "schema": {"type": "object"}});
    let (host, [guard, mut owner], _) = host_with_two(("guard", [gate]), ("owner", [other])).await;
    drop(guard);
    let calls = ["bash", "bash", "other", "bash", "bash"];
    let agency = Agency::new(&host, calls.map(|name| (name, json!({"command": "ls"}))));
    let answer = async {
        let call = owner.expect("tool_call").await;
        owner.answer(&call, "tool_result", json!({"content": []})).await;
    };
    let (ran, ()) = tokio::join!(agency.run(), answer);
    check_stopped(&ran, "guard");
}
