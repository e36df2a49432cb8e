//! The log by itself: what each watcher reads, what it loses, and what is kept.

use std::sync::Mutex;

use super::*;
use crate::session::filter::ToolFilter;
use crate::session::offers::Offers;

/// A log and what its members were told.
struct Bench {
    log: Log,
    words: Arc<Mutex<Vec<(&'static str, Word)>>>,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        Self { log: Log::new(&limits), words: Arc::default() }
    }

    /// One that watches from the next event on.
    fn join(&mut self, name: &'static str, events: &[&str], tools: &[&str], knows_gaps: bool) -> CursorId {
        let mut watched_tools = ToolFilter::default();
        watched_tools.add(&tools.iter().map(|&tool| tool.to_owned()).collect::<Vec<_>>());
        let events = events.iter().map(|&name| name.to_owned()).collect();
        let filter = Filter::of(&Offers { events, watched_tools, ..Offers::default() });
        let words = Arc::clone(&self.words);
        let member = Member::new(knows_gaps, move |word| words.lock().unwrap().push((name, word)));
        self.log.join(filter, Arc::new(member))
    }

    /// One that watches from now on.
    fn watch(&mut self, name: &'static str, events: &[&str], tools: &[&str]) -> CursorId {
        let id = self.join(name, events, tools, true);
        self.log.begin();
        self.log.turn();
        id
    }

    fn tell(&mut self, name: &'static str, tool: Option<&str>, line: &str) -> bool {
        let topic = Topic { name, tool };
        self.log.begin();
        if self.log.is_wanted(topic) {
            self.log.append(topic, Some(line));
        }
        self.log.turn()
    }

    /// Everything that a watcher has yet to read.
    fn rest(&mut self, id: CursorId, up_to: Option<u64>) -> String {
        let mut all = String::new();
        loop {
            let read = self.log.read(id, up_to);
            if read.is_empty() {
                return all;
            }
            if read.lost > 0 {
                all.push_str(&format!("[{} lost]", read.lost));
            }
            read.parts.iter().for_each(|part| all.push_str(std::str::from_utf8(part).unwrap()));
        }
    }

    fn lost(&self, name: &str) -> u64 {
        let words = self.words.lock().unwrap();
        let lost = words.iter().filter(|(whose, _)| *whose == name);
        lost.filter_map(|(_, word)| if let Word::Lost(events) = word { Some(*events) } else { None }).sum()
    }
}

/// Small enough that the log's own size decides.
fn few() -> Limits {
    Limits { queue_frames: 2, ..Limits::default() }
}

const ALL: &[&str] = &["turn_start", "tool_call", "turn_end"];

#[test]
fn each_reads_what_it_subscribed_to_in_order() {
    let mut bench = Bench::new(Limits::default());
    let all = bench.watch("all", ALL, &[]);
    let twin = bench.watch("twin", ALL, &[]);
    let ends = bench.watch("ends", &["turn_end"], &[]);
    let bash = bench.watch("bash", &["tool_call"], &["Bash"]);
    bench.tell("turn_start", None, "1\n");
    bench.tell("tool_call", Some("bash"), "2\n");
    bench.tell("assistant_message", None, "nobody wants it\n");
    assert_eq!(bench.rest(twin, None), "1\n2\n");
    bench.tell("tool_call", Some("read"), "3\n");
    bench.tell("turn_end", None, "4\n");
    assert_eq!(bench.rest(all, None), "1\n2\n3\n4\n");
    assert_eq!(bench.rest(twin, None), "3\n4\n");
    assert_eq!(bench.rest(ends, None), "4\n");
    assert_eq!(bench.rest(bash, None), "2\n");
    assert!(bench.log.segments.is_empty() && bench.log.bytes == 0, "what all have read is let go");
}

#[test]
fn whoever_joins_or_leaves_does_so_between_two_events() {
    let mut bench = Bench::new(Limits::default());
    let first = bench.watch("first", ALL, &[]);
    bench.tell("turn_start", None, "1\n");
    let late = bench.join("late", ALL, &[], true);
    bench.tell("turn_start", None, "2\n");
    bench.tell("turn_start", None, "3\n");
    bench.log.leave(first);
    bench.tell("turn_start", None, "4\n");
    bench.tell("turn_start", None, "5\n");
    assert_eq!(bench.rest(first, None), "1\n2\n3\n4\n");
    assert_eq!(bench.rest(late, None), "3\n4\n5\n");
    let words = bench.words.lock().unwrap().clone();
    assert_eq!(words, [("first", Word::Joined), ("late", Word::Joined), ("first", Word::Left)]);
    bench.log.remove(first);
    bench.tell("turn_start", None, "6\n");
    bench.log.remove(late);
    bench.log.remove(late);
    assert!(bench.log.places.is_empty() && bench.log.segments.is_empty());
}

#[test]
fn nobodys_place_changes_while_another_event_is_on_its_way() {
    let mut bench = Bench::new(Limits::default());
    let first = bench.watch("first", ALL, &[]);
    // Somebody has told everybody but the log, where the first one is and the late one is not.
    bench.log.begin();
    let late = bench.join("late", ALL, &[], true);
    bench.log.leave(first);
    bench.tell("turn_start", None, "1\n");
    assert_eq!(bench.words.lock().unwrap().as_slice(), [("first", Word::Joined)]);
    bench.log.append(Topic { name: "turn_start", tool: None }, Some("2\n"));
    bench.log.turn();
    bench.tell("turn_start", None, "3\n");
    assert_eq!(bench.rest(first, None), "1\n2\n");
    assert_eq!(bench.rest(late, None), "3\n");
    let words = bench.words.lock().unwrap().clone();
    assert_eq!(words, [("first", Word::Joined), ("first", Word::Left), ("late", Word::Joined)]);
}

#[test]
fn a_line_of_the_session_has_its_place_among_the_events() {
    let mut bench = Bench::new(Limits::default());
    let one = bench.watch("one", ALL, &[]);
    bench.tell("turn_start", None, "1\n");
    let stamp = bench.log.stamp();
    bench.tell("turn_start", None, "2\n");
    assert_eq!(bench.rest(one, Some(stamp)), "1\n");
    assert_eq!(bench.rest(one, None), "2\n");
}

#[test]
fn one_that_is_too_far_behind_loses_the_oldest_and_nobody_else_does() {
    let mut bench = Bench::new(few());
    let quick = bench.watch("quick", ALL, &[]);
    let slow = bench.watch("slow", ALL, &[]);
    let picky = bench.watch("picky", &["turn_end"], &[]);
    let line = format!("{}\n", "x".repeat(1023));
    let mut read = 0;
    for number in 0..1000 {
        bench.tell(if number == 10 { "turn_end" } else { "turn_start" }, None, &line);
        read += bench.rest(quick, None).len();
    }
    assert_eq!((read, bench.lost("quick")), (1000 * 1024, 0));
    // It has one event before it, which is fewer than the limits promise.
    assert_eq!(bench.rest(picky, None), line);
    bench.tell("turn_start", None, &line);
    bench.log.stamp();
    let held = bench.log.bytes;
    assert!(held <= LOG, "{held}");
    let rest = bench.rest(slow, None);
    let gap = format!("[{} lost]", bench.lost("slow"));
    assert!(bench.lost("slow") >= 700 && rest.starts_with(&gap), "{}", &rest[..20]);
    assert_eq!(bench.lost("slow") + (rest.len() - gap.len()) as u64 / 1024, 1001);
    assert_eq!((bench.lost("quick"), bench.lost("picky")), (0, 0));
}

#[test]
fn what_the_limits_promise_is_kept_whatever_its_size() {
    let limits = Limits { queue_frames: 3, queue_bytes: 2 * 1024 * 1024, ..Limits::default() };
    let mut bench = Bench::new(limits);
    let slow = bench.watch("slow", ALL, &[]);
    let large = format!("{}\n", "x".repeat(600 * 1024));
    // One of them is in the log.
    for _ in 0..4 {
        bench.tell("turn_start", None, &large);
    }
    bench.log.stamp();
    assert_eq!(bench.lost("slow"), 0);
    bench.tell("turn_start", None, &large);
    bench.log.stamp();
    assert_eq!(bench.lost("slow"), 1, "one more than may wait");
    assert!(bench.rest(slow, None).starts_with("[1 lost]x"));
}

#[test]
fn each_is_judged_by_what_it_has_before_it() {
    let mut bench = Bench::new(few());
    let quick = bench.watch("quick", ALL, &[]);
    let picky = bench.watch("picky", &["turn_end"], &[]);
    let large = format!("{}\n", "x".repeat(600 * 1024));
    bench.tell("turn_end", None, "1\n");
    for _ in 0..10 {
        bench.tell("turn_start", None, &large);
        bench.rest(quick, None);
    }
    bench.tell("turn_end", None, "2\n");
    let stamp = bench.log.stamp();
    bench.tell("turn_end", None, "3\n");
    assert!(bench.log.bytes <= LOG, "{}", bench.log.bytes);
    assert_eq!(bench.rest(picky, Some(stamp)), "1\n2\n");
    assert_eq!(bench.rest(picky, None), "3\n");
    assert_eq!((bench.lost("quick"), bench.lost("picky")), (0, 0));
}

#[test]
fn what_cannot_be_sent_is_missed_where_it_would_have_been() {
    let mut bench = Bench::new(Limits::default());
    let one = bench.watch("one", ALL, &[]);
    let old = bench.join("old", ALL, &[], false);
    let ends = bench.watch("ends", &["turn_end"], &[]);
    bench.tell("turn_start", None, "1\n");
    for _ in 0..2 {
        bench.log.append(Topic { name: "turn_start", tool: None }, None);
        bench.log.turn();
    }
    bench.tell("turn_end", None, "2\n");
    assert_eq!((bench.lost("one"), bench.lost("old"), bench.lost("ends")), (2, 2, 0));
    assert_eq!(bench.rest(one, None), "1\n[2 lost]2\n");
    assert_eq!(bench.rest(old, None), "1\n2\n");
    assert_eq!(bench.rest(ends, None), "2\n");
    assert!(bench.log.segments.is_empty() && bench.log.bytes == 0);
}

#[test]
fn what_cannot_be_sent_is_lost_and_a_gap_is_told_only_to_those_who_know_it() {
    let mut bench = Bench::new(Limits::default());
    let old = bench.join("old", ALL, &[], false);
    let new = bench.watch("new", ALL, &[]);
    bench.log.append(Topic { name: "turn_start", tool: None }, None);
    assert_eq!((bench.lost("old"), bench.lost("new")), (1, 1));
    assert_eq!((bench.rest(old, None).as_str(), bench.rest(new, None).as_str()), ("", "[1 lost]"));
}

#[test]
fn the_thread_is_woken_once_for_any_number_of_events() {
    let mut bench = Bench::new(Limits::default());
    let one = bench.watch("one", ALL, &[]);
    let two = bench.watch("two", ALL, &[]);
    assert!(!bench.tell("turn_start", None, "1\n"), "both have yet to look for the first time");
    assert_eq!((bench.rest(one, None), bench.rest(two, None)), ("1\n".into(), "1\n".into()));
    assert_eq!(bench.log.idle().unwrap().len(), 2);
    assert_eq!((bench.rest(one, None), bench.rest(two, None)), (String::new(), String::new()));
    assert!(bench.log.idle().is_none());
    assert!(bench.tell("turn_start", None, "2\n"));
    assert!(!bench.tell("turn_start", None, "3\n"));
    assert_eq!(bench.log.idle().unwrap().len(), 2);
    assert!(!bench.tell("turn_start", None, "4\n"), "it is awake");
    assert_eq!(bench.log.idle().unwrap().len(), 0);
    assert!(bench.log.idle().is_none());
    assert!(!bench.tell("turn_start", None, "5\n"), "nobody is idle");
    assert_eq!(bench.rest(one, None), "2\n3\n4\n5\n");
}
