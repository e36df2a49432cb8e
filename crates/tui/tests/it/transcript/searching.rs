//! Tests of the search.

use haft_protocol::content::ContentBlock;
use haft_protocol::message::Message;
use haft_tui::keys::Scroll;
use haft_tui::theme::Role;
use haft_tui::transcript::SearchOutcome;

use super::{Shown, answers, called, said, time};

fn talk() -> Shown {
    let mut shown = Shown::new(30, 6);
    shown.event(&said("where is the Apple?"));
    shown.events(&answers("The **apple** lies on the table beside the pear."));
    let output: String =
        (0..30).map(|line| format!("row {line}{}\n", if line == 7 { " plum" } else { "" })).collect();
    shown.events(&called("bash", "{\"command\":\"ls fruit\"}", &output));
    shown.events(&answers(&"nothing\n\n".repeat(9)));
    shown.event(&said("pear"));
    shown.draw();
    shown
}

fn marked(shown: &mut Shown) -> Vec<String> {
    shown.draw();
    let style = shown.theme.style(Role::SearchMatch);
    shown.styled(|cell| cell.bg == style.bg)
}

#[test]
fn finds_nearest_match_above_first() {
    let mut shown = talk();
    assert_eq!(shown.transcript.search("pear"), SearchOutcome::Match);
    assert_eq!(marked(&mut shown), ["pear"]);
    assert!(shown.transcript.is_following());
    assert_eq!(shown.transcript.next_match(true), SearchOutcome::Match);
    assert_eq!(marked(&mut shown), ["pear"]);
    assert!(!shown.transcript.is_following());
    assert_ne!(shown.transcript.next_match(true), SearchOutcome::Match);
    assert_eq!(shown.transcript.next_match(false), SearchOutcome::Match);
    assert!(shown.draw().contains("› pear"));
    assert_ne!(shown.transcript.next_match(false), SearchOutcome::Match);
    shown.transcript.end_search();
    assert_eq!(marked(&mut shown), [""; 0]);
    assert_ne!(shown.transcript.next_match(true), SearchOutcome::Match);
}

#[test]
fn lower_case_matches_upper_case() {
    let mut shown = talk();
    shown.transcript.scroll(Scroll::Top);
    assert_eq!(shown.transcript.search("apple"), SearchOutcome::Match);
    assert_eq!(marked(&mut shown), ["Apple", "apple"]);
    assert_eq!(shown.transcript.search("Apple"), SearchOutcome::Match);
    assert_eq!(marked(&mut shown), ["Apple"]);
    assert_ne!(shown.transcript.search("APPLE"), SearchOutcome::Match);
    assert_ne!(shown.transcript.search(""), SearchOutcome::Match);
    assert_eq!(marked(&mut shown), [""; 0]);
}

#[test]
fn finds_sentence_over_two_rows() {
    let mut shown = talk();
    assert_eq!(shown.transcript.search("the table beside"), SearchOutcome::Match);
    assert_eq!(marked(&mut shown).concat(), "the tablebeside");
}

#[test]
fn unfolds_item_at_current_match() {
    let mut shown = talk();
    assert_eq!(shown.transcript.search("plum"), SearchOutcome::Match);
    assert_eq!(marked(&mut shown), ["plum"]);
    assert!(shown.draw().contains("row 8"));
    shown.transcript.leave_search();
    assert!(shown.transcript.is_following());
    shown.transcript.scroll(Scroll::Top);
    shown.size.1 = 20;
    assert!(!shown.draw().contains("row 8"), "{}", shown.draw());
    // A visible match unfolds nothing.
    assert_eq!(shown.transcript.search("fruit"), SearchOutcome::Match);
    assert!(!shown.draw().contains("row 8"));
}

#[test]
fn finds_nothing_without_match() {
    let mut shown = Shown::new(30, 6);
    assert_ne!(shown.transcript.search("x"), SearchOutcome::Match);
    assert_ne!(shown.transcript.next_match(true), SearchOutcome::Match);
    let mut shown = talk();
    let before = shown.draw();
    let made = shown.transcript.layout_count();
    assert_ne!(shown.transcript.search("cherry"), SearchOutcome::Match);
    assert_ne!(shown.transcript.search("app le"), SearchOutcome::Match);
    assert_ne!(shown.transcript.search("apple  lies"), SearchOutcome::Match);
    assert!(shown.transcript.layout_count() <= made + 2, "only what may match is laid out");
    shown.transcript.leave_search();
    assert_eq!(shown.draw(), before);
}

/// The maximum number of bytes to read for one key.
const AT_ONCE: usize = 8 << 20;

/// Makes twelve million bytes, with a word that only two messages contain.
fn much() -> Shown {
    let words = "the quick brown fox jumps over the lazy dog. ".repeat(90);
    let messages: Vec<Message> = (0..3_000)
        .map(|number| {
            let word = if number % 1_000 == 17 { "Needle" } else { "hay" };
            let content = vec![ContentBlock::text(format!("{words}{word} {number}"))];
            Message::User { content, time: time() }
        })
        .collect();
    let mut shown = Shown::new(80, 24);
    shown.transcript.restore(&messages);
    shown.draw();
    shown
}

#[test]
fn key_reads_bounded_bytes() {
    let mut shown = much();
    let all: usize = 3_000 * 4_060;
    let found = shown.transcript.search("needles");
    let SearchOutcome::Searching(done) = found else { panic!("{found:?}") };
    assert!((40..80).contains(&done), "{done}");
    let read = shown.transcript.scanned_bytes();
    assert!(read > AT_ONCE / 2 && read <= AT_ONCE, "{read}");
    assert!(shown.transcript.is_following(), "the view does not move");
    assert_eq!(shown.transcript.continue_search(), SearchOutcome::Nothing);
    let read = shown.transcript.scanned_bytes();
    assert!((all - all / 10..all + all / 10).contains(&read), "each byte is read once: {read}");
    assert_eq!(shown.transcript.search_outcome(), SearchOutcome::Nothing);
}

#[test]
fn key_visits_bounded_messages() {
    let mut shown = Shown::new(80, 24);
    let message =
        |number| Message::User { content: vec![ContentBlock::text(format!("hay {number}"))], time: time() };
    shown.transcript.restore(&(0..100_000).map(message).collect::<Vec<_>>());
    shown.draw();
    // Visiting each of them takes longer than reading it.
    let SearchOutcome::Searching(done) = shown.transcript.search("needle") else {
        panic!("all were looked at")
    };
    assert!((20..50).contains(&done), "{done}");
    let steps = (0..10).take_while(|_| shown.transcript.continue_search() != SearchOutcome::Nothing).count();
    assert!((1..5).contains(&steps), "{steps}");
    // None of them is visited again for a longer text.
    assert_eq!(shown.transcript.search("needles"), SearchOutcome::Nothing);
}

#[test]
fn longer_text_searches_matches_of_shorter_text() {
    let mut shown = much();
    assert_eq!(shown.transcript.search("n"), SearchOutcome::Match);
    shown.transcript.search("needle 1");
    while let SearchOutcome::Searching(_) = shown.transcript.continue_search() {}
    assert_eq!(shown.transcript.search_outcome(), SearchOutcome::Match);
    assert!(shown.draw().contains(" 1017"));
    // There is no other match above, so everything is read.
    while let SearchOutcome::Searching(_) = shown.transcript.next_match(true) {}
    let read = shown.transcript.scanned_bytes();
    shown.transcript.search("needle 10");
    while let SearchOutcome::Searching(_) = shown.transcript.continue_search() {}
    assert_eq!(shown.transcript.search_outcome(), SearchOutcome::Match);
    let more = shown.transcript.scanned_bytes() - read;
    assert!(more <= 20 * 4_096, "{more}");
    assert_eq!(shown.transcript.search("needle 10x"), SearchOutcome::Nothing);
    let more = shown.transcript.scanned_bytes() - read;
    assert!(more <= AT_ONCE / 2, "only what was not read before, and what matched: {more}");
    // Other messages have arrived since.
    shown.event(&said("needle 10x"));
    assert_eq!(shown.transcript.search("needle 10x"), SearchOutcome::Match);
}

#[test]
fn search_does_not_move_cursor_moved_by_person() {
    let mut shown = much();
    let found = shown.transcript.search("needle 17");
    assert!(matches!(found, SearchOutcome::Searching(_)), "{found:?}");
    shown.transcript.scroll(Scroll::LineUp);
    let before = shown.draw();
    assert_eq!(shown.transcript.continue_search(), SearchOutcome::Stopped);
    assert_eq!(shown.draw(), before);
    while let SearchOutcome::Searching(_) = shown.transcript.next_match(true) {}
    assert_eq!(
        shown.transcript.search_outcome(),
        SearchOutcome::Match,
        "the key for the next one looks for it all the same"
    );
}

#[test]
fn search_lays_out_hidden_matches_in_steps() {
    let mut shown = Shown::new(80, 24);
    for _ in 0..1_000 {
        // The name of a language does not appear on any row.
        shown.events(&answers(&format!("see [this](https://hidden.example) {}", "and so on. ".repeat(90))));
    }
    shown.draw();
    let before = shown.transcript.layout_count();
    let found = shown.transcript.search("hidden.example x");
    assert_eq!(found, SearchOutcome::Nothing);
    let before_hidden = shown.transcript.layout_count();
    assert!(before_hidden <= before + 2, "hidden items are read and not laid out");
    let mut found = shown.transcript.search("](https://hidden");
    let mut steps = 0;
    while let SearchOutcome::Searching(_) = found {
        steps += 1;
        found = shown.transcript.continue_search();
    }
    assert_eq!(found, SearchOutcome::Nothing);
    assert!((3..50).contains(&steps), "{steps}");
}
