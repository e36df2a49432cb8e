//! Unrequested lines: the counting, the tolerated number, and the end of the connection.

use super::session_fixture::SessionFixture;
use super::*;

const NOTE: &str = r#"{"type":"notify","message":"flood"}"#;
const CLOSE: &str = r#"{"type":"panel_close","panel_id":"p"}"#;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn times(fixture: &SessionFixture, what: &str) -> usize {
    fixture.transcript.matches(what).count()
}

/// Returns the number of these lines that may follow `ready` before the extension is paused, up to 5,000.
#[track_caller]
fn check_counted(line: &str, expect: usize) {
    let mut fixture = SessionFixture::ready();
    let read = (0..5000).take_while(|_| {
        fixture.line(line);
        !fixture.session.is_paused()
    });
    assert_eq!(read.count(), expect, "{line}");
}

#[test]
fn pauses_after_burst() {
    for line in [
        NOTE,
        CLOSE,
        r#"{"type":"clear_notes"}"#,
        r#"{"type":"set_status","key":"k"}"#,
        r#"{"type":"panel_render","panel_id":"p"}"#,
        r#"{"type":"register_command","name":"c"}"#,
        r#"{"type":"register_tool","name":"t"}"#,
        r#"{"type":"register_tool","name":7}"#,
        r#"{"type":"subscribe"}"#,
        r#"{"type":"ready"}"#,
        r#"{"type":"hello","name":"ext"}"#,
        r#"{"type":"warp"}"#,
        r#"{"type":"tool_result","id":"guessed"}"#,
        r#"{"type":"pong","id":"guessed"}"#,
        "debug",
        "[]",
    ] {
        check_counted(line, 2000);
    }
}

#[test]
fn answers_to_open_queries_are_free() {
    let mut fixture = SessionFixture::ready();
    for _ in 0..5000 {
        let id = fixture.tool("tool");
        fixture.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
    }
    let id = fixture.guard("guard");
    fixture.line(&format!(r#"{{"type":"event_intercept_response","id":"{id}","block":7}}"#));
    fixture.pass(seconds(1));
    assert!(!fixture.session.is_paused());
    assert_eq!(fixture.faults(), ["hook_error"]);
}

#[test]
fn accepts_answer_within_flood() {
    let mut fixture = SessionFixture::ready();
    let id = fixture.tool("tool");
    for _ in 0..2100 {
        fixture.line(CLOSE);
    }
    assert!(fixture.session.is_paused());
    fixture.pass(Duration::from_millis(499));
    assert!(fixture.session.is_paused());
    fixture.pass(Duration::from_millis(1));
    assert!(!fixture.session.is_paused());
    fixture.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
    assert_eq!(times(&fixture, "= tool: Tool"), 1);
    assert_eq!(fixture.faults(), ["rate_limited"]);
}

#[test]
fn registrations_before_ready_are_free_and_surplus_is_reported_once() {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    for index in 0..10_000 {
        fixture.line(&format!(r#"{{"type":"register_tool","name":"t{index}"}}"#));
    }
    assert!(!fixture.session.is_paused());
    assert_eq!(fixture.faults(), Vec::<String>::new());
    fixture.line(r#"{"type":"ready"}"#);
    assert_eq!(fixture.session.offers().tools.len(), 128);
    assert!(
        fixture.transcript.contains("register_rejected: registered 9872 tools or commands beyond the limit")
    );
    fixture.line(r#"{"type":"register_tool","name":"another"}"#);
    assert_eq!(fixture.faults(), ["register_rejected"]);
}

#[test]
fn reports_surplus_registration_after_ready() {
    let mut fixture =
        SessionFixture::ready_within(Limits { max_tools: 1, max_commands: 1, ..Limits::default() });
    fixture.line(r#"{"type":"register_tool","name":"one"}"#);
    fixture.line(r#"{"type":"register_command","name":"one"}"#);
    assert_eq!(fixture.faults(), Vec::<String>::new());
    fixture.line(r#"{"type":"register_command","name":"two"}"#);
    fixture.line(r#"{"type":"register_tool","name":"two"}"#);
    assert_eq!(fixture.faults(), ["register_rejected"]);
}

/// Sends this line as fast as the session reads it.
fn flood(fixture: &mut SessionFixture, line: &str, time: Duration) {
    let end = fixture.now + time;
    while fixture.now <= end && !fixture.session.is_closed() {
        while !fixture.session.is_paused() && !fixture.session.is_closed() {
            fixture.line(line);
        }
        fixture.pass(Duration::from_millis(5));
    }
}

#[test]
fn endless_flood_ends_extension() {
    for line in [CLOSE, "junk", r#"{"type":"warp"}"#] {
        let mut fixture = SessionFixture::ready();
        flood(&mut fixture, line, seconds(10));
        assert!(!fixture.session.is_closed(), "{line}");
        flood(&mut fixture, line, seconds(1));
        let faults = fixture.faults();
        let limited: Vec<_> = faults.iter().filter(|code| *code == "rate_limited").collect();
        assert_eq!(limited.len(), 2, "one for the pause, one for the end: {faults:?}");
        assert!(fixture.session.is_closed(), "{line}");
    }
}

#[test]
fn short_flood_is_forgotten() {
    let mut fixture = SessionFixture::ready();
    for _ in 0..3 {
        flood(&mut fixture, CLOSE, seconds(9));
        fixture.pass(Duration::from_millis(1100));
    }
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
    assert_eq!(fixture.faults(), ["rate_limited"; 3]);
}

#[test]
fn drops_and_counts_notes_beyond_burst() {
    let mut fixture = SessionFixture::ready();
    for _ in 0..50 {
        fixture.line(NOTE);
    }
    assert_eq!((times(&fixture, "· Notify"), times(&fixture, "!")), (50, 0));
    for _ in 0..950 {
        fixture.line(NOTE);
    }
    assert_eq!((times(&fixture, "· Notify"), times(&fixture, "!")), (50, 1));
    fixture.pass(Duration::from_millis(99));
    fixture.line(NOTE);
    fixture.pass(Duration::from_millis(1));
    fixture.line(NOTE);
    assert_eq!(times(&fixture, "· Notify"), 51);
    assert_eq!(times(&fixture, "· log: notes_dropped: 951"), 1);
    assert_eq!(fixture.faults(), ["rate_limited"]);
}

#[test]
fn notes_and_lines_in_excess_are_one_report() {
    let mut fixture = SessionFixture::ready();
    for _ in 0..2001 {
        fixture.line(NOTE);
    }
    assert!(fixture.session.is_paused());
    assert_eq!(fixture.faults(), ["rate_limited"]);
}

#[test]
fn clears_notes_once() {
    let mut fixture = SessionFixture::ready();
    fixture.line(NOTE);
    for _ in 0..1000 {
        fixture.line(r#"{"type":"clear_notes"}"#);
    }
    assert_eq!(times(&fixture, "· ClearNotes"), 1, "no notes are left to clear");
}

#[test]
fn shows_last_panel_content() {
    let mut fixture = SessionFixture::ready();
    for index in 0..100 {
        fixture.line(&format!(r#"{{"type":"panel_render","panel_id":"p","lines":["{index}"]}}"#));
    }
    fixture.transcript.clear();
    fixture.pass(Duration::from_millis(33));
    assert_eq!(times(&fixture, "· PanelRender"), 0);
    fixture.pass(Duration::from_millis(1));
    assert!(fixture.transcript.contains(r#"lines: ["99"]"#), "{}", fixture.transcript);
    assert_eq!(times(&fixture, "· PanelRender"), 1);
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

#[test]
fn shows_last_status_text() {
    let mut fixture =
        SessionFixture::ready_within(Limits { max_status_items: 1, note_burst: 2, ..Limits::default() });
    for index in 0..100 {
        fixture.line(&format!(r#"{{"type":"set_status","key":"open","text":"{index}"}}"#));
    }
    assert_eq!(times(&fixture, "· Status"), 2);
    fixture.transcript.clear();
    fixture.pass(Duration::from_millis(99));
    assert_eq!(times(&fixture, "· Status"), 0);
    fixture.pass(Duration::from_millis(1));
    assert!(fixture.transcript.contains(r#"text: "99""#), "{}", fixture.transcript);
    assert_eq!((times(&fixture, "· Status"), fixture.faults()), (1, Vec::new()));
    fixture.line(r#"{"type":"set_status","key":"late","text":"1"}"#);
    fixture.line(r#"{"type":"set_status","key":"a b","text":"1"}"#);
    assert_eq!(fixture.faults(), ["register_rejected", "register_rejected"]);
    fixture.line(r#"{"type":"set_status","key":"open","text":null}"#);
    fixture.session.end("gone");
    fixture.settle();
    fixture.pass(seconds(1));
    assert_eq!(times(&fixture, "· Status"), 0, "shown and waiting items are removed at the end");
}

#[test]
fn shows_no_content_after_close_or_newer_content() {
    let mut fixture = SessionFixture::ready();
    let render = r#"{"type":"panel_render","panel_id":"p","lines":["old"]}"#;
    fixture.line(render);
    fixture.line(render);
    fixture.line(CLOSE);
    fixture.pass(seconds(1));
    assert_eq!(times(&fixture, "· PanelRender"), 1);
    fixture.line(render);
    fixture.line(render);
    fixture.ask("open", InvokeCommand { name: "open".into(), args: String::new() }, 30);
    fixture.transcript.clear();
    fixture.line(r#"{"type":"command_response","id":"r1","action":"open_panel","open_panel":{"id":"p"}}"#);
    let (shown, opened) = (fixture.transcript.find("· PanelRender"), fixture.transcript.find("= open"));
    assert!(shown.is_some() && shown < opened, "{}", fixture.transcript);
}

#[test]
fn fifth_garbled_line_ends_connection() {
    for line in [
        b"{\"type\":\"\xff\"}".as_slice(),
        b"{\"type\":\"\xc0\xaf\"}",
        b"\xff\xfe{\0}\0",
        b"{\0\"\0t\0}\0",
        "\u{feff}{\"type\":\"ready\"}".as_bytes(),
        b"{\"type\":\"ready\"}\0\0",
    ] {
        let mut fixture = SessionFixture::ready();
        for _ in 0..4 {
            fixture.bytes(line);
            fixture.pass(seconds(15));
        }
        assert!(!fixture.session.is_closed());
        assert_eq!(fixture.faults().len(), 1);
        fixture.bytes(line);
        assert!(fixture.session.is_closed(), "{}", String::from_utf8_lossy(line));
        assert_eq!(fixture.faults().len(), 1);
    }
}

#[test]
fn tolerates_rare_garbled_lines() {
    let mut fixture = SessionFixture::ready();
    for _ in 0..20 {
        fixture.bytes(b"\xff");
        fixture.pass(seconds(15) + Duration::from_millis(1));
    }
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
}

#[test]
fn reports_printed_lines_once_and_counts_them() {
    let mut fixture = SessionFixture::ready();
    for _ in 0..1000 {
        fixture.line("debug: here");
    }
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
    assert!(fixture.transcript.contains("write logs to stderr"));
    fixture.session.end("exited with status 0");
    fixture.settle();
    assert!(
        fixture.transcript.contains("· log: in all: frame_not_json 1000 times"),
        "{}",
        fixture.transcript
    );
    assert_eq!(fixture.faults(), ["frame_not_json", "exited"]);
}

#[test]
fn allows_twenty_printed_lines_before_hello() {
    let junk = ["npm WARN", "[]", "7", "{\"a\":1,\"a\":2}"];
    let mut fixture = SessionFixture::new();
    junk.iter().cycle().take(20).for_each(|line| fixture.line(line));
    assert!(!fixture.session.is_closed());
    fixture.line("one more");
    assert!(fixture.session.is_closed());
}

#[test]
fn ignores_flood_while_leaving() {
    let mut fixture = SessionFixture::ready();
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    for _ in 0..3000 {
        fixture.line(NOTE);
    }
    fixture.pass(seconds(1));
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

#[test]
fn logs_repaired_text() {
    let mut fixture = SessionFixture::ready();
    fixture.line(r#"{"type":"notify","message":"caf\udce9"}"#);
    assert!(
        fixture.transcript.contains("replaced an unpaired surrogate in a notify frame"),
        "{}",
        fixture.transcript
    );
}
