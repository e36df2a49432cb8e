//! Calls after one that a hook answered, when the user interrupts.

use std::sync::{Arc, OnceLock};

use haft_core::{Agent, QueueDelivery};
use haft_protocol::message::AssistantBlock;
use serde_json::{Value, json};

use super::super::agency::{Does, Ran, call, goes_on, said};
use super::{ALL, HookTranscript, Scene};

fn two_calls() -> Vec<Vec<AssistantBlock>> {
    let calls = vec![call("t1", "plugin", json!({})), call("t2", "bash", json!({"command": "ls"}))];
    vec![calls, vec![said("half is done")]]
}

/// Runs a turn with two calls; this happens while the hook answers the first one.
async fn while_answering(happens: impl Fn(&Agent) + Send + 'static) -> (Ran, HookTranscript) {
    let slot: Arc<OnceLock<Agent>> = Arc::default();
    let agents = Arc::clone(&slot);
    let scene = Scene::new(ALL, two_calls(), move |call| {
        if call["params"]["tool"] != "plugin" || call["method"] != "hook.before_tool" {
            return goes_on(call);
        }
        happens(agents.get().unwrap());
        Does::Reply(json!({"action": "respond", "result": {"for_llm": "answered"}}))
    });
    let scene = scene.await;
    let agent = scene.agent().steering_skips(true).build().unwrap();
    slot.set(agent.clone()).unwrap();
    let ran = scene.stage.prompt(&agent, "hello").await;
    (ran, scene.end().await)
}

#[track_caller]
fn check_skipped(ran: &Ran, told: &HookTranscript, text: &str, reason: &str) {
    let expect = [("answered".to_owned(), false), (text.to_owned(), true)];
    assert_eq!((ran.results(), ran.executions), (expect.to_vec(), 0));
    let [skipped] = &told.events("agent.tool.exec_skipped")[..] else { panic!("{:?}", told.kinds()) };
    assert_eq!(skipped["payload"], json!({"Tool": "bash", "Reason": reason}));
    let asked: Vec<&Value> =
        told.asked("hook.before_tool").into_iter().map(|params| &params["tool"]).collect();
    assert_eq!(asked, ["plugin"], "no query is sent for a skipped call");
    assert_eq!((ran.answer().as_str(), told.events.faults()), ("half is done", vec![]));
}

#[tokio::test(start_paused = true)]
async fn hook_respond_interrupt_skips_remaining() {
    let (ran, told) = while_answering(|agent| assert!(agent.interrupt("sum up"))).await;
    check_skipped(&ran, &told, "Skipped due to graceful interrupt.", "graceful interrupt requested");
    let last = told.asked("hook.before_llm")[1];
    assert_eq!((&last["graceful_terminal"], &last["tools"]), (&json!(true), &json!([])));
    let hint = last["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&hint["role"], &hint["content"]), (&json!("user"), &json!("sum up")));
    let [interrupt] = &told.events("agent.interrupt.received")[..] else { panic!("{:?}", told.kinds()) };
    assert_eq!(
        (&interrupt["payload"]["Kind"], &interrupt["payload"]["HintLen"]),
        (&json!("graceful"), &json!(6))
    );
}

#[tokio::test(start_paused = true)]
async fn hook_respond_steering_skips_remaining() {
    let (ran, told) =
        while_answering(|agent| assert_eq!(agent.steer("other").unwrap(), QueueDelivery::Running)).await;
    check_skipped(&ran, &told, "Skipped due to queued user message.", "queued user steering message");
}

#[tokio::test(start_paused = true)]
async fn emits_steering_and_skipped_tool_events() {
    let (_, told) =
        while_answering(|agent| assert_eq!(agent.steer("other").unwrap(), QueueDelivery::Running)).await;
    let kinds = told.kinds();
    let at = |kind: &str| kinds.iter().position(|found| *found == kind).unwrap();
    let order =
        ["agent.interrupt.received", "agent.tool.exec_skipped", "agent.steering.injected", "agent.turn.end"];
    assert!(order.map(at).is_sorted(), "{kinds:?}");
    let received = &told.events("agent.interrupt.received")[0]["payload"];
    let expect = json!({"Kind": "steering", "Role": "user", "ContentLen": 5, "QueueDepth": 1, "HintLen": 0});
    assert_eq!(*received, expect);
    let injected = &told.events("agent.steering.injected")[0]["payload"];
    assert_eq!(*injected, json!({"Count": 1, "TotalContentLen": 5}));
}
