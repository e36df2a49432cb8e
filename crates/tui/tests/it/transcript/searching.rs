//! Searching.

use haft_tui::keys::Scroll;
use haft_tui::theme::Role;

use super::{Shown, answers, called, said};

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
    assert!(shown.transcript.search("pear"));
    assert_eq!(marked(&mut shown), ["pear"]);
    assert!(shown.transcript.follows());
    assert!(shown.transcript.next_match(true));
    assert_eq!(marked(&mut shown), ["pear"]);
    assert!(!shown.transcript.follows());
    assert!(!shown.transcript.next_match(true));
    assert!(shown.transcript.next_match(false));
    assert!(shown.draw().contains("› pear"));
    assert!(!shown.transcript.next_match(false));
    shown.transcript.end_search();
    assert_eq!(marked(&mut shown), [""; 0]);
    assert!(!shown.transcript.next_match(true));
}

#[test]
fn small_letters_find_large_ones() {
    let mut shown = talk();
    shown.transcript.scroll(Scroll::Top);
    assert!(shown.transcript.search("apple"));
    assert_eq!(marked(&mut shown), ["Apple", "apple"]);
    assert!(shown.transcript.search("Apple"));
    assert_eq!(marked(&mut shown), ["Apple"]);
    assert!(!shown.transcript.search("APPLE"));
    assert!(!shown.transcript.search(""));
    assert_eq!(marked(&mut shown), [""; 0]);
}

#[test]
fn a_sentence_over_two_rows_is_found() {
    let mut shown = talk();
    assert!(shown.transcript.search("the table beside"));
    assert_eq!(marked(&mut shown).concat(), "the tablebeside");
}

#[test]
fn what_is_folded_is_unfolded_while_it_is_looked_at() {
    let mut shown = talk();
    assert!(shown.transcript.search("plum"));
    assert_eq!(marked(&mut shown), ["plum"]);
    assert!(shown.draw().contains("row 8"));
    shown.transcript.leave_search();
    assert!(shown.transcript.follows());
    shown.transcript.scroll(Scroll::Top);
    shown.size.1 = 20;
    assert!(!shown.draw().contains("row 8"), "{}", shown.draw());
    // A match that is seen folds nothing out.
    assert!(shown.transcript.search("fruit"));
    assert!(!shown.draw().contains("row 8"));
}

#[test]
fn nothing_is_found_where_nothing_is() {
    let mut shown = Shown::new(30, 6);
    assert!(!shown.transcript.search("x"));
    assert!(!shown.transcript.next_match(true));
    let mut shown = talk();
    let before = shown.draw();
    let made = shown.transcript.laid_out();
    assert!(!shown.transcript.search("cherry"));
    assert!(!shown.transcript.search("app le"));
    assert!(!shown.transcript.search("apple  lies"));
    assert!(shown.transcript.laid_out() <= made + 2, "only what may match is laid out");
    shown.transcript.leave_search();
    assert_eq!(shown.draw(), before);
}
