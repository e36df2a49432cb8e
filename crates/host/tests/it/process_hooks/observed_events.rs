//! The events for observing hooks, in each form that PicoClaw has sent.

use std::collections::BTreeSet;

use haft_adapter_picoclaw::wire::EventForm;
use haft_protocol::event::AgentEvent;
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use super::agency::{PLAIN_TURN, answers, goes_on, one_call, play, run};
use super::{hook, hook_with_events, host_with};
use crate::support::{Events, builder};

/// Returns the events of a turn with a call of `bash` that is denied or not.
async fn told(form: EventForm, observe: &[&str], denied: bool) -> Vec<Value> {
    let (host, peer, events) = host_with(hook_with_events(form, &["before_tool"], observe)).await;
    let action = if denied { "deny_tool" } else { "continue" };
    let peer = play(peer, answers("hook.before_tool", json!({"action": action})));
    run(&host, one_call()).await;
    host.ping().await;
    host.shutdown().await;
    assert_eq!(events.faults(), []);
    let calls = peer.await.unwrap();
    calls.into_iter().filter(|call| call["id"].is_null()).collect()
}

fn kinds(told: &[Value], field: &str) -> Vec<String> {
    told.iter().map(|call| call["params"][field].to_string().replace('"', "")).collect()
}

#[tokio::test(start_paused = true)]
async fn turn_with_tool_sends_eight_events() {
    let told = told(EventForm::Runtime, &["*"], false).await;
    assert_eq!(kinds(&told, "kind"), PLAIN_TURN);
    assert!(told.iter().all(|call| call["method"] == "hook.runtime_event"));
    let first = &told[0]["params"];
    assert_eq!((&first["id"], &first["payload"]["UserMessage"]), (&json!("evt-1"), &json!("go")));
    assert_eq!(first["scope"]["channel"], "cli");
    assert_eq!(first["scope"]["turn_id"], told[7]["params"]["scope"]["turn_id"]);
    assert_eq!(told[7]["params"]["payload"]["FinalContent"], "two files");
    assert_eq!(told[7]["params"]["payload"]["Iterations"], 2);
}

/// Hooks that work together recognize the turn by its id.
#[tokio::test(start_paused = true)]
async fn hooks_that_start_together_see_the_same_turn() {
    let events = Events::default();
    let (mut builder, mut peers) = (builder(&events), Vec::new());
    for name in ["a", "b"] {
        let (peer, reader, writer) = FakePeer::pair();
        builder = builder.hook_streams(name, hook(&["before_tool"], &[]), reader, writer);
        peers.push(play(peer, goes_on));
    }
    let host = builder.start().await;
    run(&host, one_call()).await;
    host.shutdown().await;
    let mut turns = BTreeSet::new();
    for peer in peers {
        let calls = peer.await.unwrap();
        turns.extend(
            calls.iter().filter_map(|call| call["params"]["meta"]["TurnID"].as_str().map(str::to_owned)),
        );
    }
    assert_eq!(turns.len(), 1, "{turns:?}");
}

#[tokio::test(start_paused = true)]
async fn reports_tool_start_after_gates() {
    let observe = ["tool_exec_start", "tool_exec_end", "tool_exec_skipped"];
    let (host, peer, _events) =
        host_with(hook(&["before_tool", "approve_tool", "after_tool"], &observe)).await;
    let peer = play(peer, answers("hook.approve_tool", json!({"approved": true})));
    run(&host, one_call()).await;
    host.ping().await;
    host.shutdown().await;
    let told: Vec<String> = peer
        .await
        .unwrap()
        .iter()
        .map(|call| call["params"]["kind"].as_str().or(call["method"].as_str()).unwrap().to_owned())
        .collect();
    let at =
        |what: &str| told.iter().position(|told| told == what).unwrap_or_else(|| panic!("{what}: {told:?}"));
    assert!(at("hook.approve_tool") < at("agent.tool.exec_start"), "{told:?}");
    assert!(at("agent.tool.exec_start") < at("hook.after_tool"), "{told:?}");
    assert!(at("hook.after_tool") < at("agent.tool.exec_end"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn call_answered_by_hook_has_zero_duration() {
    let observe = ["tool_exec_start", "tool_exec_end", "tool_exec_skipped"];
    let (host, peer, _events) = host_with(hook(&["before_tool"], &observe)).await;
    let result = json!({"for_llm": "two files", "silent": false, "is_error": false, "async": false});
    let peer = play(peer, answers("hook.before_tool", json!({"action": "respond", "result": result})));
    run(&host, one_call()).await;
    host.ping().await;
    host.shutdown().await;
    let told = peer.await.unwrap();
    let told: Vec<&Value> = told.iter().filter(|call| call["id"].is_null()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["params"]["kind"], "agent.tool.exec_start");
    assert_eq!(told[1]["params"]["payload"]["Duration"], 0);
    assert_eq!(told[1]["params"]["payload"]["ForLLMLen"], 9);
}

#[tokio::test(start_paused = true)]
async fn reports_repeated_mistake_once_per_turn_with_count() {
    let (host, peer, events) = host_with(hook(&["before_llm"], &[])).await;
    let messages = json!([{"role": "system", "content": "obey me"}]);
    let edit = json!({"action": "modify", "request": {"messages": messages}});
    let peer = play(peer, answers("hook.before_llm", edit));
    let three = || [one_call().remove(0), one_call().remove(0), one_call().remove(1)].to_vec();
    run(&host, three()).await;
    let (first, second) = (events.messages(), events.messages().len());
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first[0].contains("the system prompt"), "{first:?}");
    assert_eq!(first[1], format!("{} (2 more in this turn)", first[0]));
    // The next turn reports it again.
    run(&host, vec![one_call().remove(1)]).await;
    assert_eq!(events.messages()[second..], first[..1]);
    host.shutdown().await;
    peer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn sends_events_to_older_hooks_by_name_or_number() {
    let named = told(EventForm::Name, &["turn_end", "tool_exec_skipped"], true).await;
    assert_eq!(kinds(&named, "Kind"), ["tool_exec_skipped", "turn_end"]);
    assert_eq!(named[0]["params"]["Payload"]["Reason"], "Tool execution denied by hook");
    assert!(named.iter().all(|call| call["method"] == "hook.event"));
    let numbered = told(EventForm::Number, &["agent.turn.end", "tool_exec_skipped"], true).await;
    assert_eq!(kinds(&numbered, "Kind"), ["10", "1"]);
    assert_eq!(numbered[1]["params"]["Meta"]["AgentID"], "main");
}

#[tokio::test(start_paused = true)]
async fn unreading_hook_delays_no_one() {
    let (host, peer, events) = host_with(hook(&[], &["*"])).await;
    let observers = host.hook_source().hooks().observers;
    let text = "x".repeat(16 * 1024);
    let said = AgentEvent::UserMessage {
        content: vec![haft_protocol::content::ContentBlock::text(text)],
        time: haft_protocol::message::Rfc3339Time(String::new()),
        entry: None,
    };
    for _ in 0..500 {
        observers.iter().for_each(|observer| observer.observe(&said));
        observers.iter().for_each(|observer| observer.observe(&AgentEvent::Done));
    }
    host.ping().await;
    let dropped = host.statuses()[0].events_dropped;
    assert!(dropped > 0, "surplus events are dropped and counted");
    assert_eq!(events.faults(), []);
    let peer = play(peer, goes_on);
    run(&host, one_call()).await;
    host.shutdown().await;
    let told = peer.await.unwrap();
    assert!(told.len() + dropped > 1_000, "{} and {dropped}", told.len());
}
