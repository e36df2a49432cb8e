//! The order of waiting lines, and the lost events beyond the limits.

use super::*;

fn waiting(limits: &Limits, reports_gaps: bool) -> WaitingLines {
    let mut waiting = WaitingLines::new(limits);
    waiting.reports_gaps = reports_gaps;
    waiting
}

/// Limits that are low enough for the bytes of events to matter.
fn few() -> Limits {
    Limits { queue_frames: 2, ..Limits::default() }
}

fn event(waiting: &mut WaitingLines, text: &str) -> usize {
    waiting.push_events(EventRun { text: text.to_owned().into(), events: 1 })
}

/// Writes everything, `at_once` bytes at a time.
fn written(waiting: &mut WaitingLines, at_once: usize) -> String {
    let mut all = Vec::new();
    while !waiting.is_empty() {
        let mut parts = [IoSlice::new(&[]); 3];
        let used = waiting.fill_slices(&mut parts);
        let mut bytes: Vec<u8> = parts[..used].iter().flat_map(|part| part.iter().copied()).collect();
        bytes.truncate(at_once);
        waiting.advance(bytes.len());
        all.extend(bytes);
    }
    assert_eq!((waiting.bytes(), waiting.kept.lines, waiting.events.lines), (0, 0, 0));
    String::from_utf8(all).unwrap()
}

fn gap(lost: usize) -> String {
    format!("{{\"type\":\"event_gap\",\"lost\":{lost}}}\n")
}

#[test]
fn keeps_order_of_lines_across_partial_writes() {
    for at_once in [1, 3, 5, 100] {
        let mut waiting = waiting(&Limits::default(), true);
        event(&mut waiting, "one\n");
        waiting.push_kept(1, "question\n".into());
        event(&mut waiting, "two\n");
        event(&mut waiting, "three\n");
        waiting.push_kept(2, "reply\n".into());
        assert_eq!(written(&mut waiting, at_once), "one\nquestion\ntwo\nthree\nreply\n");
    }
}

#[test]
fn reports_number_after_whole_line_was_written() {
    let mut waiting = waiting(&Limits::default(), true);
    waiting.push_kept(7, "seven\n".into());
    event(&mut waiting, "event\n");
    waiting.push_kept(8, "eight\n".into());
    waiting.push_kept(9, "nine\n".into());
    assert_eq!(waiting.advance(5), None);
    assert_eq!(waiting.advance(1), Some(7));
    assert_eq!(waiting.advance(6), None);
    assert_eq!(waiting.advance(11), Some(9));
    assert!(waiting.is_empty());
}

#[test]
fn drops_oldest_events_but_no_query() {
    let mut waiting = waiting(&few(), true);
    let line = format!("{}\n", "x".repeat(1023));
    let mut lost = 0;
    for number in 0..1000 {
        lost += event(&mut waiting, &line);
        if number % 100 == 0 {
            waiting.push_kept(number, format!("question {number}\n").into());
        }
    }
    assert!(waiting.events.bytes <= EVENT_BYTES, "{}", waiting.events.bytes);
    assert!(lost >= 700, "{lost}");
    let all = written(&mut waiting, usize::MAX);
    let questions: Vec<&str> = all.lines().filter(|line| line.starts_with("question")).collect();
    assert_eq!(questions, (0..10).map(|at| format!("question {}", at * 100)).collect::<Vec<_>>());
    let told: usize = all
        .lines()
        .filter_map(|line| line.strip_prefix("{\"type\":\"event_gap\",\"lost\":")?.strip_suffix('}'))
        .map(|lost| lost.parse::<usize>().unwrap())
        .sum();
    assert_eq!(told, lost, "each gap is at the position of its events");
    assert_eq!(all.lines().filter(|line| line.starts_with('x')).count() + lost, 1000);
    assert!(all.starts_with(&gap(1)), "one event precedes the first query");
}

#[test]
fn keeps_promised_number_of_events_of_any_size() {
    let limits = Limits { queue_frames: 3, queue_bytes: 2 * 1024 * 1024, ..Limits::default() };
    let mut waiting = waiting(&limits, true);
    let large = format!("{}\n", "x".repeat(600 * 1024));
    for _ in 0..3 {
        assert_eq!(event(&mut waiting, &large), 0);
    }
    assert_eq!(event(&mut waiting, &large), 1, "one event beyond the limit");
    assert!(written(&mut waiting, usize::MAX).starts_with(&format!("{}x", gap(1))));
    let small = "x\n";
    (0..10).for_each(|_| assert_eq!(event(&mut waiting, small), 0, "all of them are less than the least"));
}

#[test]
fn finishes_partly_written_event() {
    let mut waiting = waiting(&few(), true);
    let large = |first: &str| format!("{first}{}\n", "x".repeat(200 * 1024));
    event(&mut waiting, &large("a"));
    waiting.advance(1);
    assert_eq!(event(&mut waiting, &large("b")), 0);
    assert_eq!(event(&mut waiting, &large("c")), 1);
    let rest = written(&mut waiting, usize::MAX);
    assert_eq!(rest, large("a")[1..].to_owned() + &gap(1) + &large("c"));
}

#[test]
fn reports_gap_at_position_of_lost_event() {
    let mut new = waiting(&Limits::default(), true);
    let mut old = waiting(&Limits::default(), false);
    for waiting in [&mut new, &mut old] {
        event(waiting, "1\n");
        waiting.push_gap(1);
        waiting.push_gap(1);
        event(waiting, "2\n");
    }
    assert_eq!(written(&mut new, usize::MAX), format!("1\n{}2\n", gap(2)));
    assert_eq!(written(&mut old, usize::MAX), "1\n2\n", "only extensions with the capability receive gaps");
}

#[test]
fn drops_oldest_without_gap_if_unsupported() {
    let mut waiting = waiting(&few(), false);
    let line = |number: usize| format!("{number}{}\n", "x".repeat(100 * 1024));
    let lost: usize = (0..5).map(|number| event(&mut waiting, &line(number))).sum();
    assert_eq!(lost, 3);
    assert_eq!(written(&mut waiting, usize::MAX), line(3) + &line(4));
}

#[test]
fn limits_number_and_bytes_of_queries() {
    let limits = Limits::default();
    let mut waiting = waiting(&limits, true);
    event(&mut waiting, &"x".repeat(5 * 1024 * 1024));
    assert!(
        waiting.has_room_for(usize::MAX),
        "one line of any length fits, and events do not reduce the room"
    );
    waiting.push_kept(1, "x".repeat(limits.max_result_line - 1).into());
    assert!(waiting.has_room_for(1) && !waiting.has_room_for(2));
    waiting.advance(5 * 1024 * 1024 + limits.max_result_line - 1);
    (0..MAX_KEPT).for_each(|_| waiting.push_kept(2, "x".into()));
    assert!(!waiting.has_room_for(1));
}
