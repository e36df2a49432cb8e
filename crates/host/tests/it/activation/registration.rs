//! Registrations that differ from those that the manifest declares.

use haft_host::ExtensionState;
use haft_protocol::event::AgentEvent;
use serde_json::json;

use super::home::{Home, USES};
use crate::support::{Events, blocked, call, execute, state, text};

fn notes(events: &Events) -> Vec<String> {
    let note = |event| if let AgentEvent::ExtNotify { message, .. } = event { Some(message) } else { None };
    events.all().into_iter().filter_map(note).collect()
}

#[tokio::test]
async fn different_registration_is_reported_and_counts() {
    let home = Home::with(
        "x",
        USES,
        r#"say '{"type":"register_tool","name":"news"}'; say '{"type":"ready"}'; serve"#,
    );
    let (host, events) = home.host().await;
    let changes = host.changes();
    let output = execute(&host, "t", json!({})).await;
    assert_eq!(text(&output), "extension x/t failed: was restarted and no longer offers this tool");
    assert!(changes.has_changed().unwrap());
    assert_eq!(host.tools().iter().map(|tool| tool.spec().name.clone()).collect::<Vec<_>>(), ["news"]);
    let expect = "does not match its manifest: tool news is new, tool t is missing, command /go is \
                  missing; the registrations count from now on";
    assert_eq!(notes(&events), [expect]);
    host.shutdown().await;
    let (host, _) = home.host().await;
    assert_eq!(state(&host, "x"), ExtensionState::Idle);
    assert_eq!(host.tools()[0].spec().name, "t", "the next session uses the manifest again");
    host.shutdown().await;
}

#[tokio::test]
async fn key_order_and_extra_events_are_no_difference() {
    let uses = r#"{"activation":["tool:t"],"tools":[{"name":"t","description":"does it",
        "schema":{"properties": {}, "type": "object"}}]}"#;
    let home = Home::with(
        "x",
        uses,
        r#"say '{"type":"register_tool","name":"t","description":"does it","schema":{"type":"object","properties":{}}}'
        say '{"type":"subscribe","events":["turn_end"]}'; say '{"type":"ready"}'; serve"#,
    );
    let (host, events) = home.host().await;
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert_eq!(notes(&events), Vec::<String>::new());
    host.shutdown().await;
}

#[tokio::test]
async fn reports_changed_description_and_missing_subscription() {
    let uses = r#"{"activation":["tool:t","event:turn_end"],"tools":[{"name":"t","description":"does it"}]}"#;
    let tool = r#"say '{"type":"register_tool","name":"t","description":"undoes it"}'; say '{"type":"ready"}'; serve"#;
    let home = Home::with("x", uses, tool);
    let (host, events) = home.host().await;
    execute(&host, "t", json!({})).await;
    let notes = notes(&events);
    assert!(notes[0].contains("tool t is different, event turn_end is not subscribed to"), "{notes:?}");
    host.shutdown().await;
}

#[tokio::test]
async fn undeclared_gate_blocks_after_its_start() {
    let gate = r#"say '{"type":"register_tool","name":"t","description":"does it","schema":{"type":"object"}}'
        say '{"type":"register_command","name":"go","description":"goes"}'
        say '{"type":"subscribe","intercept":["tool_call"]}'; say '{"type":"ready"}'; serve"#;
    let home = Home::with("x", USES, gate);
    let (host, events) = home.host().await;
    assert_eq!(blocked(&host, &call("bash", json!({}))).await, None);
    assert_eq!(text(&execute(&host, "t", json!({})).await), "ok");
    assert!(blocked(&host, &call("bash", json!({}))).await.is_some());
    let notes = notes(&events);
    assert!(notes.len() == 1 && notes[0].contains("intercept tool_call is new"), "{notes:?}");
    host.shutdown().await;
}
