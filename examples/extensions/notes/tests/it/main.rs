//! The tool and the command, with a host that keeps one file.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by a panic")]

use std::sync::{Arc, Mutex};

use haft_example_notes::extension;
use haft_sdk::testing::Harness;
use haft_sdk::{HostError, Response, ToolResult};
use serde_json::{Value, json};

/// A host with one file. Another process changes it before the first `stale` writes.
async fn harness(file: Option<&str>, stale: usize) -> (Harness, Arc<Mutex<Option<String>>>) {
    let file = Arc::new(Mutex::new(file.map(str::to_owned)));
    let (kept, left) = (Arc::clone(&file), Mutex::new(stale));
    let answer = move |call: &str, args: Value| {
        assert_eq!(args["path"], "NOTES.md");
        let mut kept = kept.lock().unwrap();
        if call == "read" {
            return kept.clone().ok_or(HostError::NotFound { reason: "there is no NOTES.md".into() });
        }
        let mut left = left.lock().unwrap();
        if *left > 0 {
            *left -= 1;
            return Err(HostError::Stale { reason: "NOTES.md has changed since it was read".into() });
        }
        *kept = args["content"].as_str().map(str::to_owned);
        Ok("written".to_owned())
    };
    (Harness::start_served(extension(), answer).await, file)
}

#[tokio::test]
async fn model_and_user_write_to_one_file() {
    let (harness, file) = harness(None, 0).await;
    assert_eq!(harness.command("notes", "").await, Response::display("no notes yet"));
    assert_eq!(harness.tool("note", json!({"text": "rain"})).await, ToolResult::text("noted"));
    assert_eq!(harness.command("notes", " sun ").await, Response::display("noted"));
    assert_eq!(file.lock().unwrap().as_deref(), Some("* rain\n* sun\n"));
    assert_eq!(harness.command("notes", "").await, Response::display("* rain\n* sun\n"));
}

#[tokio::test]
async fn change_by_another_program_is_kept() {
    let (noted, file) = harness(Some("# Mine"), 2).await;
    assert_eq!(noted.tool("note", json!({"text": "rain"})).await, ToolResult::text("noted"));
    assert_eq!(file.lock().unwrap().as_deref(), Some("# Mine\n* rain\n"));
    let (stale, _) = harness(Some("# Mine"), 3).await;
    let failed = stale.tool("note", json!({"text": "rain"})).await;
    assert_eq!(failed, ToolResult::error("NOTES.md has changed since it was read"));
}
