//! The panel, the tool and the file, through the harness.

use haft_example_todo::extension;
use haft_sdk::testing::Harness;
use haft_sdk::{Completion, Response, ToolResult};
use serde_json::json;

const PANEL: &str = "todos-main";

fn lines(harness: &Harness) -> Vec<String> {
    harness.panel(PANEL).map(|panel| panel.lines).unwrap_or_default()
}

async fn type_todo(harness: &Harness, text: &str) {
    harness.panel_text(PANEL, "a").await;
    harness.panel_text(PANEL, text).await;
    harness.panel_key(PANEL, "enter").await;
}

#[tokio::test]
async fn panel_is_controlled_by_keys() {
    let harness = Harness::start(extension()).await;
    harness.command("todo", "").await;
    assert_eq!(lines(&harness), ["nothing to do"]);

    type_todo(&harness, "ship panel api").await;
    type_todo(&harness, "persist state").await;
    assert_eq!(lines(&harness), ["  □ ship panel api", "› □ persist state"]);

    harness.panel_text(PANEL, "x").await;
    harness.panel_key(PANEL, "up").await;
    harness.panel_key(PANEL, "up").await;
    assert_eq!(lines(&harness), ["› □ ship panel api", "  ✓ persist state"]);
    harness.panel_key(PANEL, "enter").await;
    harness.panel_key(PANEL, "down").await;
    harness.panel_key(PANEL, "down").await;
    harness.panel_key(PANEL, "pageup").await;
    assert_eq!(lines(&harness), ["  ✓ ship panel api", "› ✓ persist state"]);

    harness.panel_key(PANEL, "esc").await;
    assert_eq!(harness.panel(PANEL), None, "esc closes");
}

#[tokio::test]
async fn draft_can_be_edited_and_discarded() {
    let harness = Harness::start(extension()).await;
    harness.command("todo", "").await;
    harness.panel_text(PANEL, "a").await;
    harness.panel_text(PANEL, "axé").await;
    harness.panel_key(PANEL, "backspace").await;
    harness.panel_key(PANEL, "left").await;
    assert_eq!(lines(&harness), ["+ ax▏"]);
    assert_eq!(harness.panel(PANEL).unwrap().footer, "enter add - esc cancel");
    harness.panel_key(PANEL, "esc").await;
    assert_eq!(lines(&harness), ["nothing to do"]);

    harness.panel_text(PANEL, "a").await;
    harness.panel_key(PANEL, "enter").await;
    assert_eq!(lines(&harness), ["nothing to do"], "an empty draft adds nothing");
}

#[tokio::test]
async fn the_model_reads_and_changes_the_list() {
    let harness = Harness::start(extension()).await;
    harness.command("todo", "").await;
    assert_eq!(harness.tool("todo", json!({"action": "list"})).await, ToolResult::text("nothing to do"));
    let added = harness.tool("todo", json!({"action": "add", "text": " water plants "})).await;
    assert_eq!(added, ToolResult::text("1. □ water plants"));
    assert_eq!(lines(&harness), ["› □ water plants"], "the user sees it at once");
    let done = harness.tool("todo", json!({"action": "complete", "number": 1})).await;
    assert_eq!(done, ToolResult::text("1. ✓ water plants"));
    for (args, expect) in [
        (json!({"action": "complete", "number": 2}), "there is no todo number 2"),
        (json!({"action": "complete"}), "there is no todo number 0"),
        (json!({"action": "add"}), "text must not be empty"),
        (
            json!({"action": "drop"}),
            "argument \"action\" does not fit: unknown variant `drop`, expected one of `list`, `add`, `complete`",
        ),
    ] {
        assert_eq!(harness.tool("todo", args).await, ToolResult::error(expect));
    }
}

#[tokio::test]
async fn a_closed_panel_is_not_drawn() {
    let harness = Harness::start(extension()).await;
    harness.command("todo", "").await;
    harness.panel_text(PANEL, "a").await;
    harness.panel_close(PANEL).await;
    harness.tool("todo", json!({"action": "add", "text": "unseen"})).await;
    assert_eq!(harness.transcript().matches("panel_render").count(), 1, "the draft alone was drawn");
    harness.command("todo", "").await;
    assert_eq!(lines(&harness), ["› □ unseen"], "and was given up");
}

#[tokio::test]
async fn the_list_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let first = Harness::start_in(extension(), dir.path()).await;
    assert_eq!(first.command("todo", "buy milk").await, Response::display("added: buy milk"));
    first.shutdown().await;
    let second = Harness::start_in(extension(), dir.path()).await;
    assert_eq!(second.tool("todo", json!({"action": "list"})).await, ToolResult::text("1. □ buy milk"));
}

#[tokio::test]
async fn a_broken_file_is_reported_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("todos.json");
    std::fs::write(&file, "[{]").unwrap();
    let harness = Harness::start_in(extension(), dir.path()).await;
    assert!(matches!(harness.command("todo", "buy milk").await, Response::Failed(_)));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[{]");
}

#[tokio::test]
async fn open_items_are_counted_and_completed() {
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.complete("todo", "d").await, []);
    harness.command("todo", "buy milk").await;
    harness.command("todo", "sleep").await;
    assert_eq!(harness.status(), [("open".to_owned(), "2 open".to_owned())]);
    let sleep = Completion::new("done 2").description("sleep");
    let milk = Completion::new("done 1").description("buy milk");
    assert_eq!(harness.complete("todo", "d").await, [milk, sleep.clone()]);
    assert_eq!(harness.command("todo", "done 1").await, Response::display("done: number 1"));
    assert_eq!(harness.complete("todo", "").await, [sleep]);
    assert_eq!(harness.complete("todo", "add").await, []);
    assert_eq!(harness.command("todo", "done 7").await, Response::display("added: done 7"));
    assert_eq!(harness.command("todo", "done 2").await, Response::display("done: number 2"));
    assert_eq!(harness.command("todo", "done 3").await, Response::display("done: number 3"));
    assert_eq!(harness.status(), []);
}
