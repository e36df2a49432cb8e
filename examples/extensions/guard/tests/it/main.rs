//! The veto and the audit log, through the harness.

use std::fs;

use haft_example_guard::{Danger, danger_in, extension};
use haft_sdk::protocol::ids::ToolCallId;
use haft_sdk::testing::Harness;
use haft_sdk::{LifecycleEvent, RawJson, ToolCallDecision};
use serde_json::{Value, json};

#[track_caller]
fn check(command: &str, expect: Option<Danger>) {
    assert_eq!(danger_in(command), expect, "{command}");
}

#[test]
fn dangers_are_seen_through_their_spellings() {
    for command in [
        "rm -rf /",
        "rm -fr x",
        "rm -r -f x",
        "rm x -rf",
        "rm --recursive --force x",
        "cd /; rm  -Rf *",
        "/bin/rm -rf x",
    ] {
        check(command, Some(Danger::RemoveAll));
    }
    for command in
        ["ls | xargs rm -rf", "bash -c 'rm -rf x'", "echo $(rm -rf x)", "r\\m -rf x", "a && \"rm\" -rf x"]
    {
        check(command, Some(Danger::RemoveAll));
    }
    for command in ["sudo ls", "FOO=1 sudo ls", "ls; doas ls", "env -i sudo ls", "/usr/bin/sudo -s"] {
        check(command, Some(Danger::Root));
    }
    check("dd if=/dev/zero of=/dev/sda", Some(Danger::RawWrite));
    check("mkfs /dev/sda", Some(Danger::Format));
    check("mkfs.ext4 /dev/sda", Some(Danger::Format));
    check(":(){ :|:& };:", Some(Danger::ForkBomb));
    check("bomb(){ bomb|bomb& };bomb", None);
    check("chmod -R 777 .", Some(Danger::OpenAll));
    check("chmod a+rwx -R .", Some(Danger::OpenAll));
}

#[test]
fn harmless_commands_pass() {
    for command in [
        "ls",
        "rm file",
        "rm -r build",
        "rm -f file",
        "grep sudo /etc/group",
        "man mkfs",
        "dd if=disk.img",
        "chmod 777 file",
        "chmod -R 755 .",
        "git rm -q x; cp -rf a b",
        "",
    ] {
        check(command, None);
    }
}

#[tokio::test]
async fn only_dangerous_shell_calls_are_blocked() {
    let harness = Harness::start(extension()).await;
    let refused = ToolCallDecision::block("refused: matches danger pattern \"rm -rf\"");
    assert_eq!(harness.intercept_tool_call("bash", json!({"command": "rm -rf /tmp/foo"})).await, refused);
    let allowed = ToolCallDecision::allow();
    assert_eq!(harness.intercept_tool_call("bash", json!({"command": "ls"})).await, allowed);
    assert_eq!(harness.intercept_tool_call("read", json!({"path": "rm -rf"})).await, allowed);
    let unread = ToolCallDecision::block("refused: bash call without a command");
    assert_eq!(harness.intercept_tool_call("bash", json!({})).await, unread);
}

#[tokio::test]
async fn every_event_is_in_the_audit_log() {
    let dir = tempfile::tempdir().unwrap();
    let harness = Harness::start_in(extension(), dir.path()).await;
    harness.event(LifecycleEvent::session_start()).await;
    let args = RawJson::parse(r#"{"command":"ls"}"#).unwrap();
    harness.event(LifecycleEvent::tool_call(ToolCallId::new("1"), "bash".into(), args)).await;
    harness.event(LifecycleEvent::assistant_message("done".into())).await;

    let log = fs::read_to_string(dir.path().join("audit.jsonl")).unwrap();
    let entries: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(entries.iter().all(|entry| entry["at"].as_u64() > Some(1_600_000_000)));
    let events: Vec<_> = entries.iter().map(|entry| entry["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["session_start", "tool_call", "assistant_message"]);
    assert_eq!(entries[1]["tool_args"], json!({"command": "ls"}));
    assert_eq!(harness.notes(), []);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_told() {
    let harness = Harness::start_in(extension(), "/nowhere/at/all").await;
    harness.event(LifecycleEvent::session_start()).await;
    let notes = harness.notes();
    assert!(notes.len() == 1 && notes[0].1.starts_with("handler of session_start failed: "), "{notes:?}");
}
