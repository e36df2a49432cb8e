//! Extensions that approve calls: the hook `approve`, in memory and with a real process.

use std::path::Path;
use std::time::Duration;

use haft_core::hooks::{ApproverDecision, PendingCall};
use haft_host::Host;
use haft_packages::{ExtensionSpec, GuardRoles, LaunchPlan};
use haft_protocol::ext::InterceptKind;
use haft_protocol::ids::ExtensionName;
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::Agency;
use crate::support::{Events, brisk, builder, call, config, fault, host_with, host_with_two, program, spec};

fn subscribe() -> Value {
    json!({"type": "subscribe", "intercept": ["approve"]})
}

/// Returns the decision of the first approver about a call of `bash`.
async fn approve(host: &Host) -> ApproverDecision {
    let hook = host.hook_source().hooks().approve_tool.remove(0);
    let bash = call("bash", json!({"command": "ls"}));
    hook.approve_call(&CancellationToken::new(), &PendingCall::new(&bash)).await
}

async fn answer_next(peer: &mut FakePeer, answer: Value) -> Value {
    let question = peer.expect("event_intercept").await;
    peer.answer(&question, "event_intercept_response", answer).await;
    question
}

fn denied(reason: &str) -> ApproverDecision {
    ApproverDecision::Deny { reason: reason.into() }
}

#[tokio::test(start_paused = true)]
async fn approver_approves_and_denies() {
    let (host, mut peer, events) = host_with("desk", [subscribe()]).await;
    let (decision, mut question) =
        tokio::join!(approve(&host), answer_next(&mut peer, json!({"block": false})));
    assert_eq!(decision, ApproverDecision::Approve);
    question.as_object_mut().unwrap().remove("id");
    let expect = json!({
        "type": "event_intercept", "event": "approve", "tool_id": "t1", "tool_name": "bash",
        "tool_args": {"command": "ls"},
    });
    assert_eq!(question, expect);
    for (answer, reason) in [
        (json!({"block": true, "reason": "not on a Friday"}), "not on a Friday"),
        (json!({"block": true}), "tool call denied by extension desk"),
    ] {
        let (decision, _) = tokio::join!(approve(&host), answer_next(&mut peer, answer));
        assert_eq!(decision, denied(reason));
    }
    let hook = host.hook_source().hooks().approve_tool.remove(0);
    assert_eq!(hook.name(), "desk");
    assert!(hook.belongs_to(&ExtensionName::new("desk")) && !hook.belongs_to(&ExtensionName::new("other")));
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn answer_without_decision_denies() {
    let (host, mut peer, events) = host_with("desk", [subscribe()]).await;
    for wrong in [json!({}), json!({"approved": true}), json!({"block": false, "error": "no disk"})] {
        let (decision, _) = tokio::join!(approve(&host), answer_next(&mut peer, wrong.clone()));
        assert!(matches!(decision, ApproverDecision::Deny { .. }), "{wrong}");
    }
    assert_eq!(events.faults(), vec![fault("desk", "hook_error"); 3]);
}

#[tokio::test(start_paused = true)]
async fn approver_has_the_time_of_a_person() {
    let (host, mut peer, events) = host_with("desk", [subscribe()]).await;
    let late = async {
        let question = peer.expect("event_intercept").await;
        // sleep: the person thinks
        tokio::time::sleep(Duration::from_secs(59)).await;
        peer.answer(&question, "event_intercept_response", json!({"block": false})).await;
    };
    let (decision, ()) = tokio::join!(approve(&host), late);
    assert_eq!(decision, ApproverDecision::Approve);
    let begun = Instant::now();
    let never = async { while peer.next().await.is_some() {} };
    let decision = tokio::select! { decision = approve(&host) => decision, () = never => panic!() };
    let text =
        "blocked: extension desk, which must approve this, did not answer within 60 s; the user was notified";
    assert_eq!((decision, begun.elapsed().as_secs()), (denied(text), 60));
    assert_eq!(events.faults(), [fault("desk", "hook_timeout")]);
}

/// Approvers are asked last, about the call that runs.
#[tokio::test(start_paused = true)]
async fn approver_sees_the_rewritten_call() {
    let rewriter = json!({"type": "subscribe", "intercept": ["tool_call"]});
    let (host, [mut polite, mut desk], events) =
        host_with_two(("polite", [rewriter]), ("desk", [subscribe()])).await;
    let agency = Agency::new(&host, [("bash", json!({"command": "ls"})), ("bash", json!({"command": "rm"}))]);
    let rewrite = json!({"modified_args": {"command": "ls -1"}});
    let playing = async {
        let mut seen = Vec::new();
        for answer in [json!({"block": false}), json!({"block": true, "reason": "no"})] {
            answer_next(&mut polite, rewrite.clone()).await;
            seen.push(answer_next(&mut desk, answer).await["tool_args"]["command"].clone());
        }
        seen
    };
    let (ran, seen) = tokio::join!(agency.run(), playing);
    assert_eq!((ran.executions, ran.outcome.clone()), (1, Ok(())));
    assert_eq!(ran.blocks(), [("desk".to_owned(), "no".to_owned())]);
    assert_eq!(seen, ["ls -1", "ls -1"]);
    assert_eq!(events.faults(), []);
}

/// A required approver that cannot start denies every call.
#[tokio::test]
async fn required_approver_that_never_started_denies() {
    let roles = GuardRoles { required: true, gates: vec![InterceptKind::Approve], ..GuardRoles::default() };
    assert!(roles.is_gate());
    let launch = LaunchPlan::Impossible { why: "cannot be started: no such file".into() };
    let never = ExtensionSpec { roles, ..spec("desk", Path::new("/"), launch) };
    let host = builder(&Events::default()).specs(vec![never]).start().await;
    let hooks = host.hook_source().hooks();
    assert_eq!((hooks.before_tool_execute.len(), hooks.approve_tool.len()), (0, 1));
    let ApproverDecision::Deny { reason } = approve(&host).await else { panic!() };
    assert_eq!(hooks.approve_tool[0].name(), "desk");
    assert!(reason.contains("no such file"), "{reason}");
}

/// Denies every call but `ls`.
const SCRIPT: &str = r#"
import json, sys
def emit(obj):
    print(json.dumps(obj), flush=True)
emit({"type":"hello","name":"desk","version":"1.0.0"})
emit({"type":"subscribe","intercept":[{"event":"approve","role":"gate"}]})
emit({"type":"ready"})
for line in sys.stdin:
    msg = json.loads(line)
    if msg["type"] == "event_intercept":
        command = msg["tool_args"]["command"]
        answer = {"type":"event_intercept_response","id":msg["id"],"block":command != "ls"}
        if command == "push":
            answer["reason"] = "not on a Friday"
        emit(answer)
    elif msg["type"] == "shutdown":
        emit({"type":"shutdown_ack"})
        break
"#;

#[tokio::test]
async fn process_approves_and_denies() {
    let dir = tempfile::tempdir().unwrap();
    let args = vec!["-c".to_owned(), SCRIPT.to_owned()];
    let script = LaunchPlan::Process { program: program(&["python3", "python"]), args };
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    let specs = vec![spec("desk", dir.path(), script)];
    let host = Host::builder(config).events(events.sink()).specs(specs).start().await;
    let agency = Agency::new(&host, ["ls", "push"].map(|command| ("bash", json!({"command": command}))));
    let ran = agency.run().await;
    assert_eq!((ran.executions, ran.outcome.clone()), (1, Ok(())));
    assert_eq!(ran.blocks(), [("desk".to_owned(), "not on a Friday".to_owned())]);
    host.shutdown().await;
    assert_eq!(events.faults(), []);
}
