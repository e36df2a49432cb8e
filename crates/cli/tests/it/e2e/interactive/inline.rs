//! The interactive mode on the terminal's own screen: what was said is printed there once and stays.

use haft_test_support::model_server::Scenario;
use haft_test_support::pty::Pty;

use super::seat::Seat;
use crate::e2e::scene::{Scene, bash};

fn inline(steps: Vec<Scenario>, args: &[&str]) -> Seat {
    let all: Vec<&str> = ["--inline"].iter().chain(args).copied().collect();
    // The terminal of the tests cuts rows and does not wrap them, as xterm does.
    Seat::with(Scene::new(steps), &all, |setup| setup.env("XTERM_VERSION", "XTerm(390)"))
}

/// How often a row with this text stands on the screen and above it.
#[track_caller]
fn stands(pty: &Pty, text: &str, times: usize) {
    let history = pty.history();
    let found = history.iter().filter(|row| row.contains(text)).count();
    assert_eq!(found, times, "{text:?} in\n{}", history.join("\n"));
}

/// Leaves; then nothing is left of what was drawn below the conversation.
#[track_caller]
fn leave(seat: &Seat) {
    seat.pty.send(b"\x11");
    let ended = seat.pty.wait_for_end();
    assert_eq!((ended.code, ended.signal), (0, None), "{:?}", seat.pty);
    let screen = seat.pty.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
    let rows = seat.pty.history();
    let last = rows.iter().rfind(|row| !row.is_empty()).unwrap();
    assert!(last.starts_with("haft --resume "), "{}", rows.join("\n"));
    assert!(!rows.iter().any(|row| row.starts_with("────") || row == "›"), "{}", rows.join("\n"));
}

#[test]
fn what_was_said_stands_on_the_terminal_once() {
    let seat = inline(
        vec![Scenario::text("Hello from the model."), bash("t1", "seq 60"), Scenario::text("Counted.")],
        &[],
    );
    seat.say("say hello");
    seat.sees(&["Hello from the model."]);
    seat.editor_is_empty();
    assert!(!seat.pty.screen().alternate_screen());
    seat.say("and count");
    seat.sees(&["● bash  seq 60", "… +56 lines (ctrl+o)", "Counted."]);
    seat.editor_is_empty();
    for text in ["› say hello", "Hello from the model.", "› and count", "● bash  seq 60", "Counted."] {
        stands(&seat.pty, text, 1);
    }
    leave(&seat);
    for text in ["› say hello", "Hello from the model.", "› and count", "● bash  seq 60", "Counted."] {
        stands(&seat.pty, text, 1);
    }
}
