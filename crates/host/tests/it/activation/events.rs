//! Events start the extensions that watch them, and none is lost.

use haft_host::{ExtensionState, Host};
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::limits::QUEUE_FRAMES;
use haft_protocol::message::StopCause;

use super::home::Home;
use crate::support::{eventually, state};

/// Returns a home with an extension that watches these events, each of which starts it.
fn watches(events: &[&str]) -> Home {
    let uses: Vec<_> = events.iter().map(|event| format!("event:{event}")).collect();
    Home::with(
        "audit",
        &serde_json::json!({ "activation": uses }).to_string(),
        &format!(r#"say '{{"type":"subscribe","events":{events:?}}}'; say '{{"type":"ready"}}'; serve"#),
    )
}

fn tell(host: &Host, events: &[AgentEvent]) {
    let observers = host.hook_source().hooks().observers;
    for event in events {
        observers.iter().for_each(|observer| observer.observe(event));
    }
}

fn turn() -> [AgentEvent; 3] {
    let (id, args) = (ToolCallId::new("1"), RawJson::empty_object());
    [
        AgentEvent::TurnStart { step: 1 },
        AgentEvent::ToolCall { id, name: "bash".into(), args },
        AgentEvent::TurnEnd { stop: StopCause::End, error: None },
    ]
}

#[tokio::test]
async fn event_starts_observer_and_keeps_order() {
    let home = watches(&["turn_start", "tool_call", "turn_end"]);
    let (host, events) = home.host().await;
    tell(&host, &turn());
    eventually(|| state(&host, "audit") == ExtensionState::Ready).await;
    tell(&host, &turn());
    host.shutdown().await;
    let one = ["turn_start", "tool_call", "turn_end"];
    assert_eq!(home.events(), [one, one].concat());
    assert_eq!((home.starts(), events.faults()), (1, vec![]));
}

#[tokio::test]
async fn shutdown_waits_for_extension_started_by_event() {
    let home = watches(&["turn_end"]);
    let (host, _) = home.host().await;
    tell(&host, &turn());
    host.shutdown().await;
    assert_eq!(home.events(), ["turn_end"]);
}

#[tokio::test]
async fn tool_call_observer_is_not_started_by_other_events() {
    let home = watches(&["tool_call"]);
    let (host, _) = home.host().await;
    let [start, call, end] = turn();
    tell(&host, &[start, end]);
    assert_eq!(state(&host, "audit"), ExtensionState::Idle);
    tell(&host, &[call]);
    host.shutdown().await;
    assert_eq!((home.starts(), home.events()), (1, vec!["tool_call".to_owned()]));
}

#[tokio::test]
async fn counts_events_beyond_backlog() {
    let home = watches(&["turn_end"]);
    let (host, _) = home.host().await;
    let [_, _, end] = turn();
    tell(&host, &vec![end; 2000]);
    assert_eq!(host.statuses().remove(0).events_dropped, 2000 - QUEUE_FRAMES);
    host.shutdown().await;
    assert_eq!(host.statuses().remove(0).events_dropped, 2000 - QUEUE_FRAMES);
    assert_eq!(home.events().len(), QUEUE_FRAMES, "all stored events arrive");
}

#[tokio::test]
async fn reports_gap_for_events_beyond_backlog() {
    let mut home = watches(&["turn_end"]);
    home.config.env.set.push(("CAN".into(), r#""event_gap""#.into()));
    let (host, _) = home.host().await;
    let [_, _, end] = turn();
    tell(&host, &vec![end; QUEUE_FRAMES + 10]);
    eventually(|| state(&host, "audit") == ExtensionState::Ready).await;
    tell(&host, &turn());
    host.shutdown().await;
    let told = home.events();
    assert_eq!(told.len(), QUEUE_FRAMES + 2);
    assert_eq!(told[QUEUE_FRAMES..], ["10 lost", "turn_end"]);
}
