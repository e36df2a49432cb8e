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
    check("bomb(){ bomb|bomb& };bomb", Some(Danger::ForkBomb));
    check("chmod -R 777 .", Some(Danger::OpenAll));
    check("chmod a+rwx -R .", Some(Danger::OpenAll));
}

#[test]
fn spelling_of_the_shell_hides_no_danger() {
    for command in [
        "rm --recurs --forc d",
        "{rm,-rf,d}",
        "r{m,} -r{f,} d",
        "rm${IFS}-rf${IFS}d",
        "rm$IFS-rf d",
        "eval rm -rf d",
        "eval 'rm -r' -f d",
        "timeout 5 rm -rf d",
        "timeout -s KILL 5 nice -n 3 rm -rf d",
        "find . -name x -exec rm -rf {} +",
        "if true; then rm -rf d; fi",
        "for f in a b; do rm -r -f $f; done",
        "case x in x) rm -rf d;; esac",
        "f() { rm -rf d; }; f",
        "x=$(rm -rf d) true",
        "echo \"${x:-$(rm -rf d)}\"",
        "echo `rm -rf d`",
        "cat <(rm -rf d)",
        "cat <<E\n$(rm -rf d)\nE",
        "sh <<E\nrm -rf d\nE",
        "[[ -n $(rm -rf d) ]]",
        "sh -ec \"bash -c 'rm -rf d'\"",
        "echo $((1 + $(rm -rf d)))",
        "rm \\\n -rf d",
    ] {
        check(command, Some(Danger::RemoveAll));
    }
    for command in ["timeout 5 sudo ls", "env -u X sudo ls", "xargs -n 1 sudo", "s''udo ls", "{sudo,ls}"] {
        check(command, Some(Danger::Root));
    }
    for command in [
        "$X -rf d",
        "X=rm; $X -rf d",
        "eval \"$X\"",
        "bash -c \"$X\"",
        "echo cm0gLXJmIGQ= | base64 -d | sh",
        "$'\\x72m' -rf d",
        "/bin/r? -rf d",
        "$(echo rm) -rf d",
    ] {
        check(command, Some(Danger::Hidden));
    }
    for command in ["echo '", "if", "echo {99999999999999999999..1}", &"(".repeat(10_000)] {
        check(command, Some(Danger::Unreadable));
    }
}

#[test]
fn long_and_deep_commands_need_little_stack_and_time() {
    for part in ["if ", "time ", "[[ ! ", "a | ", "case x in x) ", "${x:-", "{a,", "$((", "`", "\"", "<<E "] {
        danger_in(&part.repeat(60_000 / part.len()));
    }
    check(&"ls;".repeat(30_000), Some(Danger::Unreadable));
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
        "rm -- -rf",
        "echo 'rm -rf /'",
        "echo \"sudo\" # sudo ls",
        "[ -f x ] && [[ -d y ]] || test -e z",
        "for f in *.txt; do echo \"$f\"; done",
        "$HOME/.cargo/bin/cargo build --release",
        "timeout 5 grep sudo /etc/group",
        "python3 - <<'E'\nprint('rm -rf')\nE",
        "bash build.sh; sh -c 'ls -l'",
        "x=1 make -j{1..4} > log 2>&1 &",
        "find . -name '*.o' -exec rm -f {} +",
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
async fn unwritable_log_is_reported() {
    let harness = Harness::start_in(extension(), "/nowhere/at/all").await;
    harness.event(LifecycleEvent::session_start()).await;
    let notes = harness.notes();
    assert!(notes.len() == 1 && notes[0].1.starts_with("handler of session_start failed: "), "{notes:?}");
}
