//! Tests of linear mode in a pseudo-terminal without cursor control.

use haft_test_support::pty::{ProgramExit, Pty, PtySetup};
use rustix::process::Signal;

use super::terminal::PEER;

fn running() -> Pty {
    let pty = PtySetup::new(&*PEER).args(["lines"]).env("TERM", "dumb").spawn();
    pty.wait_for("lines of 80");
    pty
}

/// Checks the exit code, and that only lines were printed.
#[track_caller]
fn ends_with(pty: &Pty, code: u32) {
    assert_eq!(pty.wait_for_end(), ProgramExit { code, signal: None });
    assert!(!pty.bytes().contains(&0x1b), "{pty:?}");
}

#[test]
fn handles_lines_and_exits_at_end_of_input() {
    let pty = running();
    pty.send("hello there\n");
    pty.wait_for("typed \"hello there\"");
    // The terminal's own line editing.
    pty.send("abx\x7fc\n");
    pty.wait_for("typed \"abc\"");
    pty.send("\x04");
    ends_with(&pty, 0);
}

#[test]
fn reports_interrupt() {
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
fn signals_end_loop() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1)] {
        let pty = running();
        pty.signal(signal);
        ends_with(&pty, 128 + number);
    }
}

#[test]
fn secret_is_not_echoed() {
    let pty = running();
    pty.send("hide\n");
    pty.wait_for("typed \"hide\"");
    // The terminal stops the echo before anything is printed.
    pty.send("s3cret\n");
    pty.wait_for("typed \"s3cret\"");
    assert_eq!(String::from_utf8_lossy(&pty.bytes()).matches("s3cret").count(), 1, "{pty:?}");
    pty.send("seen\n");
    pty.wait_for("typed \"seen\"");
    assert_eq!(String::from_utf8_lossy(&pty.bytes()).matches("seen").count(), 2, "{pty:?}");
    pty.send("\x04");
    ends_with(&pty, 0);
}
