//! Checks that every name of the protocol occurs in a transcript.

use std::fs;

use serde_json::Value;

/// Names that occur in no transcript, with the reason.
const ELSEWHERE: [(&str, &str); 3] = [
    ("nothing_to_do", "no command answers with it: what `compact` has nothing for is told by `error`"),
    (
        "session",
        "told by whoever shows one run, and when a file cannot be gone on with; `hello` names the session here",
    ),
    ("trust_required", "told by the program when it starts"),
];

fn dir(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns all transcripts of this directory.
fn transcripts() -> String {
    let files = fs::read_dir(dir("tests/it/serve/snapshots")).unwrap();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

fn names(registry: &str) -> Vec<String> {
    let meta = fs::read_to_string(dir("../../docs/schema/meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    let names = meta[registry].as_array().unwrap();
    names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Checks that every name of this registry occurs in this form.
#[track_caller]
fn check(registry: &str, shape: impl Fn(&str) -> String) {
    let transcripts = transcripts();
    let mut missing = names(registry);
    missing.retain(|name| !transcripts.contains(&shape(name)));
    missing.retain(|name| !ELSEWHERE.iter().any(|(known, _)| known == name));
    assert_eq!(missing, [] as [String; 0], "{registry} without a transcript");
}

#[test]
fn every_command_occurs_in_a_transcript() {
    check("rpc_commands", |name| format!(r#""command":"{name}","success":true"#));
}

#[test]
fn every_code_occurs_in_a_transcript() {
    check("rpc_codes", |name| format!(r#""code":"{name}"}}"#));
}

#[test]
fn every_event_occurs_in_a_transcript() {
    check("rpc_events", |name| format!(r#"< {{"type":"{name}","#));
    check("agent_events", |name| format!(r#"< {{"type":"{name}","#));
}
