//! Tests of kept, dropped and reported events.

use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::message::Rfc3339Time;
use haft_protocol::rpc::{ClientEvent, PanelContent, PingCommand, PongData, RpcEvent, RpcResponse};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Low limits, so that short texts reach them.
const ROOM: OutboxLimits = OutboxLimits { pieces: 200, notes: 400 };

fn outbox() -> ClientOutbox {
    ClientOutbox::new(ROOM, LineEncoding::Text)
}

fn session(name: &str) -> SessionKey {
    Some(name.to_owned())
}

fn piece(n: usize) -> ClientEvent {
    AgentEvent::TextDelta { delta: format!("piece {n}") }.into()
}

/// An event that is never dropped.
fn said(text: String) -> AgentEvent {
    AgentEvent::Error { message: text, stage: None, advice: None }
}

fn whole(n: usize) -> ClientEvent {
    said(format!("whole {n}")).into()
}

fn note(n: usize) -> ClientEvent {
    let message = format!("note {n}");
    AgentEvent::ExtNotify { extension: ExtensionName::new("todo"), level: NoteLevel::Info, message }.into()
}

fn content(id: &str, n: usize) -> PanelContent {
    let lines = vec![format!("row {n}")];
    PanelContent { panel_id: PanelId::new(id), title: String::new(), lines, footer: String::new() }
}

fn panel(id: &str, n: usize) -> ClientEvent {
    RpcEvent::PanelRender { extension: ExtensionName::new("todo"), panel: content(id, n) }.into()
}

fn opens(owner: &str, id: &str, n: usize) -> ClientEvent {
    RpcEvent::PanelOpen { extension: ExtensionName::new(owner), panel: content(id, n) }.into()
}

fn closes(owner: &str, id: &str) -> ClientEvent {
    RpcEvent::PanelClose { extension: ExtensionName::new(owner), panel_id: PanelId::new(id) }.into()
}

/// An outbox at the limit for pieces.
fn filled() -> ClientOutbox {
    let mut outbox = outbox();
    outbox.event(session("s"), whole(0)).unwrap();
    outbox.event(session("s"), said("x".repeat(ROOM.pieces))).unwrap();
    outbox.take(1).unwrap();
    outbox
}

fn all(outbox: &mut ClientOutbox) -> String {
    std::iter::from_fn(|| outbox.take(usize::MAX).unwrap()).collect::<String>().replace(&"x".repeat(200), "…")
}

#[test]
fn lines_below_the_limit_are_kept() {
    let mut outbox = outbox();
    outbox.event(session("s"), piece(1)).unwrap();
    outbox.event(None, whole(2)).unwrap();
    outbox
        .reply(RpcResponse::success::<PingCommand>(Some("1".into()), &PongData { pong: true }).unwrap())
        .unwrap();
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"text_delta","delta":"piece 1","session":"s"}
    {"type":"error","message":"whole 2"}
    {"type":"response","id":"1","command":"ping","success":true,"data":{"pong":true}}
    "#);
    assert_eq!((outbox.waiting_bytes(), outbox.take(1).unwrap()), (0, None));
}

#[test]
fn dropped_pieces_are_reported_before_the_next_line() {
    let mut outbox = filled();
    outbox.event(session("s"), piece(1)).unwrap();
    outbox.event(session("s"), piece(2)).unwrap();
    outbox.event(session("t"), piece(3)).unwrap();
    outbox.event(session("u"), whole(4)).unwrap();
    outbox.reply(RpcResponse::success::<PingCommand>(None, &PongData { pong: true }).unwrap()).unwrap();
    outbox.event(session("s"), whole(5)).unwrap();
    outbox.event(session("s"), piece(6)).unwrap();
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"error","message":"…","session":"s"}
    {"type":"error","message":"whole 4","session":"u"}
    {"type":"response","command":"ping","success":true,"data":{"pong":true}}
    {"type":"event_gap","lost":2,"session":"s"}
    {"type":"error","message":"whole 5","session":"s"}
    {"type":"event_gap","lost":1,"session":"s"}
    {"type":"event_gap","lost":1,"session":"t"}
    "#);
}

#[test]
fn notes_have_a_higher_limit() {
    let mut outbox = filled();
    outbox.event(session("s"), note(1)).unwrap();
    assert!(!outbox.is_full());
    outbox.event(session("s"), said("x".repeat(ROOM.pieces))).unwrap();
    assert!(outbox.is_full());
    outbox.event(session("s"), note(2)).unwrap();
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"error","message":"…","session":"s"}
    {"type":"ext_notify","extension":"todo","level":"info","message":"note 1","session":"s"}
    {"type":"error","message":"…","session":"s"}
    {"type":"event_gap","lost":1,"session":"s"}
    "#);
}

#[test]
fn only_the_newest_content_of_a_panel_waits() {
    let mut outbox = filled();
    for n in 1..4 {
        outbox.event(session("s"), panel("a", n)).unwrap();
    }
    outbox.event(session("t"), panel("a", 5)).unwrap();
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"error","message":"…","session":"s"}
    {"type":"panel_render","extension":"todo","panel_id":"a","title":"","lines":["row 3"],"footer":"","session":"s"}
    {"type":"panel_render","extension":"todo","panel_id":"a","title":"","lines":["row 5"],"footer":"","session":"t"}
    "#);
    // Below the limit, every content arrives.
    outbox.event(session("s"), panel("a", 6)).unwrap();
    outbox.event(session("s"), panel("a", 7)).unwrap();
    assert_eq!(all(&mut outbox).lines().count(), 2);
}

#[test]
fn only_the_newest_status_text_waits() {
    let mut outbox = filled();
    let status = |key: &str, text: Option<&str>| RpcEvent::ExtStatus {
        extension: ExtensionName::new("todo"),
        key: key.to_owned(),
        text: text.map(str::to_owned),
        styled: Vec::new(),
    };
    for (key, text) in [("a", Some("1")), ("b", Some("2")), ("a", Some("3")), ("b", None)] {
        outbox.event(session("s"), status(key, text)).unwrap();
    }
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"error","message":"…","session":"s"}
    {"type":"ext_status","extension":"todo","key":"a","text":"3","session":"s"}
    {"type":"ext_status","extension":"todo","key":"b","session":"s"}
    "#);
}

#[test]
fn one_change_of_registrations_waits() {
    let mut outbox = filled();
    for name in ["todo", "plan", "todo", "todo"] {
        let extension = ExtensionName::new(name);
        outbox.event(session("s"), RpcEvent::RegistrationsChanged { extension }).unwrap();
    }
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"error","message":"…","session":"s"}
    {"type":"registrations_changed","extension":"todo","session":"s"}
    {"type":"registrations_changed","extension":"plan","session":"s"}
    "#);
}

#[test]
fn panel_content_precedes_its_close() {
    let mut outbox = filled();
    outbox.event(session("s"), panel("a", 1)).unwrap();
    outbox.event(session("s"), closes("todo", "a")).unwrap();
    outbox.event(session("s"), panel("a", 2)).unwrap();
    outbox.event(session("s"), panel("a", 3)).unwrap();
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"error","message":"…","session":"s"}
    {"type":"panel_render","extension":"todo","panel_id":"a","title":"","lines":["row 1"],"footer":"","session":"s"}
    {"type":"panel_close","extension":"todo","panel_id":"a","session":"s"}
    {"type":"panel_render","extension":"todo","panel_id":"a","title":"","lines":["row 3"],"footer":"","session":"s"}
    "#);
}

#[test]
fn reopened_panels_do_not_accumulate() {
    let mut outbox = filled();
    outbox.event(session("s"), closes("todo", "before")).unwrap();
    let mut most = 0;
    for n in 0..1000 {
        for (owner, id) in [("todo", "a"), ("other", "b")] {
            outbox.event(session("s"), opens(owner, id, n % 10)).unwrap();
            outbox.event(session("s"), closes(owner, id)).unwrap();
        }
        most = most.max(outbox.waiting_bytes());
    }
    assert!(most < 1500, "{most} bytes wait");
    assert!(outbox.lines.len() < 10, "{} lines", outbox.lines.len());
    outbox.event(session("s"), opens("todo", "c", 7)).unwrap();
    outbox.event(session("s"), panel("c", 8)).unwrap();
    assert_snapshot!(all(&mut outbox), @r#"
    {"type":"error","message":"…","session":"s"}
    {"type":"panel_open","extension":"other","panel_id":"b","title":"","lines":["row 9"],"footer":"","session":"s"}
    {"type":"panel_close","extension":"other","panel_id":"b","session":"s"}
    {"type":"panel_open","extension":"todo","panel_id":"c","title":"","lines":["row 7"],"footer":"","session":"s"}
    {"type":"panel_render","extension":"todo","panel_id":"c","title":"","lines":["row 8"],"footer":"","session":"s"}
    "#);
    assert_eq!(outbox.waiting_bytes(), 0);
}

#[test]
fn unlimited_extension_events_are_dropped() {
    let mut outbox = filled();
    outbox.event(session("s"), said("x".repeat(ROOM.notes))).unwrap();
    let before = outbox.waiting_bytes();
    let extension = || ExtensionName::new("todo");
    let told: [ClientEvent; 3] = [
        RpcEvent::Insert { extension: extension(), text: "put in".into() }.into(),
        AgentEvent::ExtDisplay { extension: extension(), text: "shown".into() }.into(),
        AgentEvent::ExtClearNotes { extension: extension() }.into(),
    ];
    for event in told {
        outbox.event(session("s"), event).unwrap();
    }
    assert_eq!(outbox.waiting_bytes(), before);
    let text = all(&mut outbox);
    assert!(text.ends_with("{\"type\":\"event_gap\",\"lost\":3,\"session\":\"s\"}\n"), "{text}");
}

#[test]
fn delivered_panel_is_not_withdrawn() {
    let mut outbox = outbox();
    outbox.event(session("s"), panel("a", 1)).unwrap();
    outbox.take(1).unwrap();
    outbox.event(session("s"), said("x".repeat(ROOM.pieces))).unwrap();
    outbox.event(session("s"), panel("a", 2)).unwrap();
    assert_eq!(all(&mut outbox).lines().count(), 2);
}

#[test]
fn takes_complete_lines() {
    let mut outbox = outbox();
    (0..3).for_each(|n| outbox.event(None, whole(n)).unwrap());
    let length = outbox.waiting_bytes() / 3;
    for (most, expect) in [(2 * length, 2), (0, 1)] {
        let taken = outbox.take(most).unwrap().unwrap();
        assert_eq!((taken.lines().count(), taken.ends_with('\n')), (expect, true));
    }
}

/// A step of the test.
#[derive(Debug, Clone)]
enum Step {
    Event { session: usize, kind: usize, length: usize },
    Take(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3usize, 0..4usize, 0..120usize)
            .prop_map(|(session, kind, length)| Step::Event { session, kind, length }),
        1 => (0..600usize).prop_map(Step::Take),
    ]
}

/// The kinds of events.
const PANEL: usize = 2;
const WHOLE: usize = 3;

/// Creates a numbered event of a kind, with a text of the given length.
fn numbered(kind: usize, n: usize, length: usize) -> ClientEvent {
    let text = format!("{n} {}", "x".repeat(length));
    match kind {
        0 => AgentEvent::TextDelta { delta: text }.into(),
        1 => note(n),
        PANEL => panel("a", n),
        WHOLE.. => said(text).into(),
    }
}

proptest! {
    #[test]
    fn required_events_arrive_and_dropped_ones_are_counted(steps in prop::collection::vec(step(), 0..80)) {
        let (mut outbox, mut typed) = (outbox(), ClientOutbox::new(ROOM, LineEncoding::Typed));
        let (mut sent, mut read) = (Vec::new(), String::new());
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Event { session: at, kind, length } => {
                    let before = outbox.waiting_bytes();
                    let event = numbered(kind, n, length);
                    let line = EventLine { event: event.clone(), session: session(&at.to_string()) };
                    typed.event(line.session.clone(), event.clone()).unwrap();
                    outbox.event(line.session.clone(), event).unwrap();
                    prop_assert!(kind != 0 || before <= ROOM.pieces || outbox.waiting_bytes() == before, "a piece above the limit");
                    sent.push((kind, line.encode().unwrap()));
                }
                Step::Take(most) => {
                    let taken = outbox.take(most).unwrap();
                    prop_assert_eq!(&typed.take(most).unwrap(), &taken);
                    read.extend(taken);
                }
            }
            prop_assert_eq!(typed.waiting_bytes(), outbox.waiting_bytes());
        }
        read.extend(std::iter::from_fn(|| outbox.take(100).unwrap()));
        check(&sent, &read);
    }
}

#[test]
fn image_counts_with_its_data_size() {
    let image = |bytes: usize| {
        let data = "A".repeat(bytes).into();
        let content = vec![ContentBlock::Image(Image { mime_type: "image/png".into(), data })];
        AgentEvent::UserMessage { content, time: Rfc3339Time("T".into()), entry: None }
    };
    let weight = |bytes: usize| {
        let mut outbox = ClientOutbox::new(ROOM, LineEncoding::Typed);
        outbox.event(None, image(bytes)).unwrap();
        outbox.waiting_bytes()
    };
    // The line also contains the size of the data, which has two more digits.
    assert_eq!(weight(40_000) - weight(400), 39_600 + 2);
    let mut outbox = ClientOutbox::new(ROOM, LineEncoding::Typed);
    outbox.event(None, image(400)).unwrap();
    let line = EventLine { event: image(400).into(), session: None };
    assert_eq!((outbox.take_line().unwrap(), outbox.waiting_bytes()), (Some(line.into()), 0));
}

/// Checks that all sent events arrive in order or are reported as dropped, and that the newest
/// content of each panel arrives.
fn check(sent: &[(usize, String)], read: &str) {
    let mut lines = read
        .split_inclusive('\n')
        .filter(|line| !is(line, "event_gap") && !is(line, "panel_render"))
        .peekable();
    let mut missing = BTreeMap::<String, u64>::new();
    let mut newest = BTreeMap::new();
    for (kind, line) in sent {
        if *kind == PANEL {
            newest.insert(session_of(line), line.as_str());
        } else if lines.next_if_eq(&line.as_str()).is_none() {
            assert_ne!(*kind, WHOLE, "{line} is missing or out of order in {read}");
            *missing.entry(session_of(line)).or_default() += 1;
        }
    }
    assert_eq!(lines.next(), None);
    let mut told = BTreeMap::<String, u64>::new();
    for line in read.lines().filter(|line| is(line, "event_gap")) {
        let lost = serde_json::from_str::<Value>(line).unwrap()["lost"].as_u64().unwrap();
        *told.entry(session_of(line)).or_default() += lost;
    }
    assert_eq!(told, missing);
    let mut shown = BTreeMap::new();
    for line in read.split_inclusive('\n').filter(|line| is(line, "panel_render")) {
        shown.insert(session_of(line), line);
    }
    assert_eq!(shown, newest);
}

fn is(line: &str, kind: &str) -> bool {
    line.starts_with(&format!(r#"{{"type":"{kind}""#))
}

fn session_of(line: &str) -> String {
    serde_json::from_str::<Value>(line).unwrap()["session"].to_string()
}
