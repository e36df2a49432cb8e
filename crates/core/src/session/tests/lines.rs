//! Tests of the format of each entry on disk.

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause, TokenUsage, ToolMessage,
};

use crate::session::entry::*;
use crate::session::{EntryId, SessionId, line};

fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-02T03:04:05.678Z".to_owned())
}

fn call() -> ToolCall {
    ToolCall {
        id: ToolCallId::new("call_1"),
        name: "read".to_owned(),
        args: RawJson::parse(r#"{"n":9007199254740993}"#).unwrap(),
    }
}

fn answer() -> ResponseMetadata {
    ResponseMetadata {
        provider: "anthropic".to_owned(),
        model: "m".to_owned(),
        stop: StopCause::ToolUse,
        usage: TokenUsage::default().with_input(10).with_output(5).with_cache_read(3).with_cost_usd(0.25),
    }
}

/// Returns one body of each type.
pub(super) fn samples() -> Vec<EntryBody> {
    let call = call();
    let said = AssistantMessage::new(
        vec![AssistantBlock::Text { text: "Hm.".to_owned() }, AssistantBlock::ToolCall(call.clone())],
        time(),
    );
    let result =
        ToolMessage::new(call.id.clone(), call.name.clone(), vec![ContentBlock::text("line\nline")], time())
            .with_details(RawJson::parse(r#"{"diff":{}}"#).ok());
    vec![
        Message::User { content: vec![ContentBlock::text("Hi \u{1f600}")], time: time() }.into(),
        MessageEntry { message: Message::Assistant(said), answer: Some(answer()) }.into(),
        ToolStart { call_id: call.id, name: call.name, args: call.args }.into(),
        Message::Tool(result).into(),
        ModelChange { provider: "anthropic".to_owned(), model: "m".to_owned() }.into(),
        ThinkingChange { level: "high".to_owned() }.into(),
        ToolsChange { active: Some(vec!["read".to_owned()]) }.into(),
        Compaction {
            summary: "all well".to_owned(),
            first_kept: Some(EntryId::from(1)),
            tokens_before: 1000,
            files_read: vec!["a".to_owned()],
            files_modified: Vec::new(),
            by: None,
            answer: None,
            used: None,
            settings: SessionSettings { thinking: Some("high".to_owned()), ..SessionSettings::default() },
        }
        .into(),
        BranchSummary { summary: "a dead end".to_owned(), from: EntryId::from(2), by: None, answer: None }
            .into(),
        Custom {
            owner: "todo".to_owned(),
            kind: "list".to_owned(),
            data: RawJson::parse(r#"{"open":[1]}"#).unwrap(),
            answer: None,
        }
        .into(),
        CustomMessage {
            owner: "todo".to_owned(),
            kind: "reminder".to_owned(),
            content: vec![ContentBlock::text("two open")],
            display: true,
            details: RawJson::parse(r#"{"open":["a",9007199254740993]}"#).ok(),
        }
        .into(),
        Label { target: EntryId::from(1), label: Some("before".to_owned()) }.into(),
        tags([("old", None), ("ticket", Some("HA-7")), ("work", Some(""))]).into(),
        Name { name: "A \"name\"".to_owned() }.into(),
    ]
}

/// Returns a change of these tags.
pub(super) fn tags<const N: usize>(changes: [(&str, Option<&str>); N]) -> Tags {
    let changes = changes.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
    Tags { tags: changes.into(), replace: false }
}

/// Converts bodies to entries, each following the one before.
pub(super) fn chain(bodies: Vec<EntryBody>) -> Vec<SessionEntry> {
    let number = |at: usize| EntryId::from(at as u128);
    let entries = bodies.into_iter().enumerate().map(|(at, body)| SessionEntry {
        id: number(at + 1),
        parent: (at > 0).then(|| number(at)),
        time: time(),
        body,
    });
    entries.collect()
}

pub(super) fn header() -> SessionHeader {
    SessionHeader {
        id: SessionId::from(0xfeed),
        format_version: FORMAT_VERSION,
        cwd: "/project".to_owned(),
        created: time(),
        forked_from: None,
    }
}

/// Returns a whole file.
pub(super) fn file(entries: &[SessionEntry]) -> Vec<u8> {
    let mut bytes = header().to_line().unwrap();
    entries.iter().for_each(|entry| bytes.extend(entry.to_line().unwrap()));
    bytes
}

#[test]
fn each_entry_has_one_form_on_disk() {
    let lines = String::from_utf8(file(&chain(samples()))).unwrap();
    insta::assert_snapshot!(lines.replace("00000000000000000000000000", "~"));
}

#[test]
fn written_entries_are_read_unchanged() {
    for entry in chain(samples()) {
        let written = entry.to_line().unwrap();
        let line = written.strip_suffix(b"\n").unwrap();
        let reading = line::read(line).unwrap();
        assert_eq!((&reading.entry, reading.unread), (&entry, None));
    }
    let fork = SessionHeader {
        forked_from: Some(ForkOrigin { session: SessionId::from(1), entry: None }),
        ..header()
    };
    for header in [header(), fork] {
        let written = header.to_line().unwrap();
        assert_eq!(line::read_header(written.strip_suffix(b"\n").unwrap()), Ok(header));
    }
}

#[test]
fn every_type_has_a_sample() {
    let samples = samples();
    let kinds: Vec<&str> = samples.iter().map(EntryBody::kind).collect();
    EntryBody::KINDS.iter().for_each(|kind| assert!(kinds.contains(kind), "{kind}"));
}

#[test]
fn reads_fields_in_any_order() {
    let line = br#" { "name": "x", "parent": null, "new": [1], "id": "00000000000000000000000000000001", "type": "name" } "#;
    let entry = line::read(line).unwrap().entry;
    assert_eq!((entry.id, entry.parent), (EntryId::from(1), None));
    assert_eq!(entry.body, Name { name: "x".to_owned() }.into());
}

#[test]
fn reads_a_list_of_words_as_all_tags() {
    let line = br#"{"type":"tags","id":"00000000000000000000000000000001","parent":null,"time":"t","tags":["b","a","b"]}"#;
    let entry = line::read(line).unwrap().entry;
    let words = Tags { replace: true, ..tags([("a", Some("")), ("b", Some(""))]) };
    assert_eq!(entry.body, words.clone().into());
    // The entry keeps its meaning when it is written again, for example by an export.
    let again = entry.to_line().unwrap();
    let again = again.strip_suffix(b"\n").unwrap();
    assert!(again.ends_with(br#""tags":{"a":"","b":""},"replace":true}"#));
    assert_eq!(line::read(again).unwrap().entry.body, words.into());
}

#[test]
fn null_details_are_none() {
    let line = br#"{"type":"custom_message","id":"00000000000000000000000000000001","parent":null,"time":"t","owner":"o","kind":"k","content":[],"display":true,"details":null}"#;
    let EntryBody::CustomMessage(message) = line::read(line).unwrap().entry.body else { panic!() };
    assert_eq!(message.details, None);
}

#[test]
fn keeps_unknown_entries_unchanged() {
    for (text, unread) in [
        (
            r#"{"type":"vote","id":"00000000000000000000000000000001","parent":null,"time":"t","x":[1 ,2]}"#,
            false,
        ),
        (
            r#"{"type":"name","id":"00000000000000000000000000000001","parent":null,"time":"t","name":5}"#,
            true,
        ),
        (
            r#"{"type":"tags","id":"00000000000000000000000000000001","parent":null,"time":"t","tags":{"a":[]}}"#,
            true,
        ),
    ] {
        let reading = line::read(text.as_bytes()).unwrap();
        assert_eq!(reading.unread.is_some(), unread, "{text}");
        assert_eq!(reading.entry.to_line().unwrap(), format!("{text}\n").into_bytes());
    }
}
