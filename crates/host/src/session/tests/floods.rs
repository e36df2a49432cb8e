//! Unrequested lines: the counting, the tolerated number, and the end of the connection.

use super::bench::Bench;
use super::*;

const NOTE: &str = r#"{"type":"notify","message":"flood"}"#;
const CLOSE: &str = r#"{"type":"panel_close","panel_id":"p"}"#;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn times(bench: &Bench, what: &str) -> usize {
    bench.transcript.matches(what).count()
}

/// Returns the number of these lines that may follow `ready` before the extension is paused, up to 5,000.
#[track_caller]
fn check_counted(line: &str, expect: usize) {
    let mut bench = Bench::ready();
    let read = (0..5000).take_while(|_| {
        bench.line(line);
        !bench.session.is_paused()
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
    let mut bench = Bench::ready();
    for _ in 0..5000 {
        let id = bench.tool("tool");
        bench.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
    }
    let id = bench.guard("guard");
    bench.line(&format!(r#"{{"type":"event_intercept_response","id":"{id}","block":7}}"#));
    bench.pass(seconds(1));
    assert!(!bench.session.is_paused());
    assert_eq!(bench.faults(), ["hook_error"]);
}

#[test]
fn accepts_answer_within_flood() {
    let mut bench = Bench::ready();
    let id = bench.tool("tool");
    for _ in 0..2100 {
        bench.line(CLOSE);
    }
    assert!(bench.session.is_paused());
    bench.pass(Duration::from_millis(499));
    assert!(bench.session.is_paused());
    bench.pass(Duration::from_millis(1));
    assert!(!bench.session.is_paused());
    bench.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
    assert_eq!(times(&bench, "= tool: Tool"), 1);
    assert_eq!(bench.faults(), ["rate_limited"]);
}

#[test]
fn registrations_before_ready_are_free_and_surplus_is_reported_once() {
    let mut bench = Bench::new();
    bench.line(r#"{"type":"hello","name":"ext"}"#);
    for index in 0..10_000 {
        bench.line(&format!(r#"{{"type":"register_tool","name":"t{index}"}}"#));
    }
    assert!(!bench.session.is_paused());
    assert_eq!(bench.faults(), Vec::<String>::new());
    bench.line(r#"{"type":"ready"}"#);
    assert_eq!(bench.session.offers().tools.len(), 128);
    assert!(
        bench.transcript.contains("register_rejected: registered 9872 tools or commands beyond the limit")
    );
    bench.line(r#"{"type":"register_tool","name":"another"}"#);
    assert_eq!(bench.faults(), ["register_rejected"]);
}

#[test]
fn reports_surplus_registration_after_ready() {
    let mut bench = Bench::ready_within(Limits { max_tools: 1, max_commands: 1, ..Limits::default() });
    bench.line(r#"{"type":"register_tool","name":"one"}"#);
    bench.line(r#"{"type":"register_command","name":"one"}"#);
    assert_eq!(bench.faults(), Vec::<String>::new());
    bench.line(r#"{"type":"register_command","name":"two"}"#);
    bench.line(r#"{"type":"register_tool","name":"two"}"#);
    assert_eq!(bench.faults(), ["register_rejected"]);
}

/// Sends this line as fast as the session reads it.
fn flood(bench: &mut Bench, line: &str, time: Duration) {
    let end = bench.now + time;
    while bench.now <= end && !bench.session.is_closed() {
        while !bench.session.is_paused() && !bench.session.is_closed() {
            bench.line(line);
        }
        bench.pass(Duration::from_millis(5));
    }
}

#[test]
fn endless_flood_ends_extension() {
    for line in [CLOSE, "junk", r#"{"type":"warp"}"#] {
        let mut bench = Bench::ready();
        flood(&mut bench, line, seconds(10));
        assert!(!bench.session.is_closed(), "{line}");
        flood(&mut bench, line, seconds(1));
        let faults = bench.faults();
        let limited: Vec<_> = faults.iter().filter(|code| *code == "rate_limited").collect();
        assert_eq!(limited.len(), 2, "one for the pause, one for the end: {faults:?}");
        assert!(bench.session.is_closed(), "{line}");
    }
}

#[test]
fn short_flood_is_forgotten() {
    let mut bench = Bench::ready();
    for _ in 0..3 {
        flood(&mut bench, CLOSE, seconds(9));
        bench.pass(Duration::from_millis(1100));
    }
    assert_eq!(bench.session.state(), ExtensionState::Ready);
    assert_eq!(bench.faults(), ["rate_limited"; 3]);
}

#[test]
fn drops_and_counts_notes_beyond_burst() {
    let mut bench = Bench::ready();
    for _ in 0..50 {
        bench.line(NOTE);
    }
    assert_eq!((times(&bench, "· Notify"), times(&bench, "!")), (50, 0));
    for _ in 0..950 {
        bench.line(NOTE);
    }
    assert_eq!((times(&bench, "· Notify"), times(&bench, "!")), (50, 1));
    bench.pass(Duration::from_millis(99));
    bench.line(NOTE);
    bench.pass(Duration::from_millis(1));
    bench.line(NOTE);
    assert_eq!(times(&bench, "· Notify"), 51);
    assert_eq!(times(&bench, "· log: notes_dropped: 951"), 1);
    assert_eq!(bench.faults(), ["rate_limited"]);
}

#[test]
fn notes_and_lines_in_excess_are_one_report() {
    let mut bench = Bench::ready();
    for _ in 0..2001 {
        bench.line(NOTE);
    }
    assert!(bench.session.is_paused());
    assert_eq!(bench.faults(), ["rate_limited"]);
}

#[test]
fn clears_notes_once() {
    let mut bench = Bench::ready();
    bench.line(NOTE);
    for _ in 0..1000 {
        bench.line(r#"{"type":"clear_notes"}"#);
    }
    assert_eq!(times(&bench, "· ClearNotes"), 1, "no notes are left to clear");
}

#[test]
fn shows_last_panel_content() {
    let mut bench = Bench::ready();
    for index in 0..100 {
        bench.line(&format!(r#"{{"type":"panel_render","panel_id":"p","lines":["{index}"]}}"#));
    }
    bench.transcript.clear();
    bench.pass(Duration::from_millis(33));
    assert_eq!(times(&bench, "· PanelRender"), 0);
    bench.pass(Duration::from_millis(1));
    assert!(bench.transcript.contains(r#"lines: ["99"]"#), "{}", bench.transcript);
    assert_eq!(times(&bench, "· PanelRender"), 1);
    assert_eq!(bench.faults(), Vec::<String>::new());
}

#[test]
fn shows_last_status_text() {
    let mut bench = Bench::ready_within(Limits { max_status_items: 1, note_burst: 2, ..Limits::default() });
    for index in 0..100 {
        bench.line(&format!(r#"{{"type":"set_status","key":"open","text":"{index}"}}"#));
    }
    assert_eq!(times(&bench, "· Status"), 2);
    bench.transcript.clear();
    bench.pass(Duration::from_millis(99));
    assert_eq!(times(&bench, "· Status"), 0);
    bench.pass(Duration::from_millis(1));
    assert!(bench.transcript.contains(r#"text: "99""#), "{}", bench.transcript);
    assert_eq!((times(&bench, "· Status"), bench.faults()), (1, Vec::new()));
    bench.line(r#"{"type":"set_status","key":"late","text":"1"}"#);
    bench.line(r#"{"type":"set_status","key":"a b","text":"1"}"#);
    assert_eq!(bench.faults(), ["register_rejected", "register_rejected"]);
    bench.line(r#"{"type":"set_status","key":"open","text":null}"#);
    bench.session.end("gone");
    bench.settle();
    bench.pass(seconds(1));
    assert_eq!(times(&bench, "· Status"), 0, "shown and waiting items are removed at the end");
}

#[test]
fn shows_no_content_after_close_or_newer_content() {
    let mut bench = Bench::ready();
    let render = r#"{"type":"panel_render","panel_id":"p","lines":["old"]}"#;
    bench.line(render);
    bench.line(render);
    bench.line(CLOSE);
    bench.pass(seconds(1));
    assert_eq!(times(&bench, "· PanelRender"), 1);
    bench.line(render);
    bench.line(render);
    bench.ask("open", InvokeCommand { name: "open".into(), args: String::new() }, 30);
    bench.transcript.clear();
    bench.line(r#"{"type":"command_response","id":"r1","action":"open_panel","open_panel":{"id":"p"}}"#);
    let (shown, opened) = (bench.transcript.find("· PanelRender"), bench.transcript.find("= open"));
    assert!(shown.is_some() && shown < opened, "{}", bench.transcript);
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
        let mut bench = Bench::ready();
        for _ in 0..4 {
            bench.bytes(line);
            bench.pass(seconds(15));
        }
        assert!(!bench.session.is_closed());
        assert_eq!(bench.faults().len(), 1);
        bench.bytes(line);
        assert!(bench.session.is_closed(), "{}", String::from_utf8_lossy(line));
        assert_eq!(bench.faults().len(), 1);
    }
}

#[test]
fn tolerates_rare_garbled_lines() {
    let mut bench = Bench::ready();
    for _ in 0..20 {
        bench.bytes(b"\xff");
        bench.pass(seconds(15) + Duration::from_millis(1));
    }
    assert_eq!(bench.session.state(), ExtensionState::Ready);
}

#[test]
fn reports_printed_lines_once_and_counts_them() {
    let mut bench = Bench::ready();
    for _ in 0..1000 {
        bench.line("debug: here");
    }
    assert_eq!(bench.session.state(), ExtensionState::Ready);
    assert!(bench.transcript.contains("write logs to stderr"));
    bench.session.end("exited with status 0");
    bench.settle();
    assert!(bench.transcript.contains("· log: in all: frame_not_json 1000 times"), "{}", bench.transcript);
    assert_eq!(bench.faults(), ["frame_not_json", "exited"]);
}

#[test]
fn allows_twenty_printed_lines_before_hello() {
    let junk = ["npm WARN", "[]", "7", "{\"a\":1,\"a\":2}"];
    let mut bench = Bench::new();
    junk.iter().cycle().take(20).for_each(|line| bench.line(line));
    assert!(!bench.session.is_closed());
    bench.line("one more");
    assert!(bench.session.is_closed());
}

#[test]
fn ignores_flood_while_leaving() {
    let mut bench = Bench::ready();
    bench.session.shutdown(bench.now);
    bench.settle();
    for _ in 0..3000 {
        bench.line(NOTE);
    }
    bench.pass(seconds(1));
    assert_eq!(bench.faults(), Vec::<String>::new());
}

#[test]
fn logs_repaired_text() {
    let mut bench = Bench::ready();
    bench.line(r#"{"type":"notify","message":"caf\udce9"}"#);
    assert!(
        bench.transcript.contains("replaced an unpaired surrogate in a notify frame"),
        "{}",
        bench.transcript
    );
}
