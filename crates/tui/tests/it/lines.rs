//! The loop of printed and typed lines, in a pseudo-terminal that can do nothing else.

use haft_test_support::pty::{ProgramExit, Pty, PtySetup};
use rustix::process::Signal;

use super::terminal::PEER;

fn running() -> Pty {
    let pty = PtySetup::new(&*PEER).args(["lines"]).env("TERM", "dumb").spawn();
    pty.wait_for("lines of 80");
    pty
}

/// How it ended, and that nothing but lines was printed.
#[track_caller]
fn ends_with(pty: &Pty, code: u32) {
    assert_eq!(pty.wait_for_end(), ProgramExit { code, signal: None });
    assert!(!pty.bytes().contains(&0x1b), "{pty:?}");
}

#[test]
fn lines_are_told_and_the_end_of_input_leaves() {
    let pty = running();
    pty.send("hello there\n");
    pty.wait_for("typed \"hello there\"");
    // The terminal's own way to mend what is typed.
    pty.send("abx\x7fc\n");
    pty.wait_for("typed \"abc\"");
    pty.send("\x04");
    ends_with(&pty, 0);
}

#[test]
fn an_interrupt_is_told() {
    let pty = running();
    pty.send("half a line\x03");
    pty.wait_for("interrupt");
    pty.send("whole\n");
    pty.wait_for("typed \"whole\"");
    pty.signal(Signal::INT);
    pty.wait_for("interrupt\n");
    pty.send("\x04");
    ends_with(&pty, 0);
}

#[test]
fn signals_end_it() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1)] {
        let pty = running();
        pty.signal(signal);
        ends_with(&pty, 128 + number);
    }
}

#[test]
fn a_secret_is_not_shown_while_it_is_typed() {
    let pty = running();
    pty.send("hide\n");
    pty.wait_for("typed \"hide\"");
    // The terminal is silent before anything is printed.
    pty.send("s3cret\n");
    pty.wait_for("typed \"s3cret\"");
    assert_eq!(String::from_utf8_lossy(&pty.bytes()).matches("s3cret").count(), 1, "{pty:?}");
    pty.send("seen\n");
    pty.wait_for("typed \"seen\"");
    assert_eq!(String::from_utf8_lossy(&pty.bytes()).matches("seen").count(), 2, "{pty:?}");
    pty.send("\x04");
    ends_with(&pty, 0);
}
