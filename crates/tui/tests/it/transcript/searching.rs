//! Searching.

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
fn the_nearest_above_is_first() {
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
fn small_letters_find_large_ones() {
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
fn a_sentence_over_two_rows_is_found() {
    let mut shown = talk();
    assert_eq!(shown.transcript.search("the table beside"), SearchOutcome::Match);
    assert_eq!(marked(&mut shown).concat(), "the tablebeside");
}

#[test]
fn what_is_folded_is_unfolded_while_it_is_looked_at() {
    let mut shown = talk();
    assert_eq!(shown.transcript.search("plum"), SearchOutcome::Match);
    assert_eq!(marked(&mut shown), ["plum"]);
    assert!(shown.draw().contains("row 8"));
    shown.transcript.leave_search();
    assert!(shown.transcript.is_following());
    shown.transcript.scroll(Scroll::Top);
    shown.size.1 = 20;
    assert!(!shown.draw().contains("row 8"), "{}", shown.draw());
    // A match that is seen folds nothing out.
    assert_eq!(shown.transcript.search("fruit"), SearchOutcome::Match);
    assert!(!shown.draw().contains("row 8"));
}

#[test]
fn nothing_is_found_where_nothing_is() {
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

/// What may be read for one key, in bytes.
const AT_ONCE: usize = 8 << 20;

/// Twelve million bytes, and a word in two messages of them that is nowhere else.
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
fn a_key_reads_so_much_and_no_more() {
    let mut shown = much();
    let all: usize = 3_000 * 4_060;
    let found = shown.transcript.search("needles");
    let SearchOutcome::Searching(done) = found else { panic!("{found:?}") };
    assert!((40..80).contains(&done), "{done}");
    let read = shown.transcript.scanned_bytes();
    assert!(read > AT_ONCE / 2 && read <= AT_ONCE, "{read}");
    assert!(shown.transcript.is_following(), "it stays where one is");
    assert_eq!(shown.transcript.continue_search(), SearchOutcome::Nothing);
    let read = shown.transcript.scanned_bytes();
    assert!((all - all / 10..all + all / 10).contains(&read), "each byte is read once: {read}");
    assert_eq!(shown.transcript.search_outcome(), SearchOutcome::Nothing);
}

#[test]
fn a_key_looks_at_so_many_messages_and_no_more() {
    let mut shown = Shown::new(80, 24);
    let message =
        |number| Message::User { content: vec![ContentBlock::text(format!("hay {number}"))], time: time() };
    shown.transcript.restore(&(0..100_000).map(message).collect::<Vec<_>>());
    shown.draw();
    // To come to each of them takes longer than to read it.
    let SearchOutcome::Searching(done) = shown.transcript.search("needle") else {
        panic!("all were looked at")
    };
    assert!((20..50).contains(&done), "{done}");
    let steps = (0..10).take_while(|_| shown.transcript.continue_search() != SearchOutcome::Nothing).count();
    assert!((1..5).contains(&steps), "{steps}");
    // None of them is looked at again for a text that begins so.
    assert_eq!(shown.transcript.search("needles"), SearchOutcome::Nothing);
}

#[test]
fn a_longer_text_is_looked_for_where_the_shorter_one_is() {
    let mut shown = much();
    assert_eq!(shown.transcript.search("n"), SearchOutcome::Match);
    shown.transcript.search("needle 1");
    while let SearchOutcome::Searching(_) = shown.transcript.continue_search() {}
    assert_eq!(shown.transcript.search_outcome(), SearchOutcome::Match);
    assert!(shown.draw().contains(" 1017"));
    // Above it there is no other, so that all is read.
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
    // Others have been said since.
    shown.event(&said("needle 10x"));
    assert_eq!(shown.transcript.search("needle 10x"), SearchOutcome::Match);
}

#[test]
fn who_moves_on_is_not_taken_elsewhere_by_a_search() {
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
fn what_is_written_and_not_shown_is_not_laid_out_all_at_once() {
    let mut shown = Shown::new(80, 24);
    for _ in 0..1_000 {
        // The name of a language stands nowhere on a row.
        shown.events(&answers(&format!("see [this](https://hidden.example) {}", "and so on. ".repeat(90))));
    }
    shown.draw();
    let before = shown.transcript.layout_count();
    let found = shown.transcript.search("hidden.example x");
    assert_eq!(found, SearchOutcome::Nothing);
    let before_hidden = shown.transcript.layout_count();
    assert!(before_hidden <= before + 2, "read, and not laid out");
    let mut found = shown.transcript.search("](https://hidden");
    let mut steps = 0;
    while let SearchOutcome::Searching(_) = found {
        steps += 1;
        found = shown.transcript.continue_search();
    }
    assert_eq!(found, SearchOutcome::Nothing);
    assert!((3..50).contains(&steps), "{steps}");
}
