//! Tests of the terminal that runs programs.

use std::time::Duration;

use haft_test_support::pty::{ProgramExit, PtySetup, key};

fn sh(script: &str) -> PtySetup {
    PtySetup::new("sh").arg("-c").arg(script)
}

#[test]
fn shows_output_and_types_input() {
    let pty = sh("printf 'name? '; read name; printf 'hello \\033[1m%s\\033[m\\n' \"$name\"; exit 3").spawn();
    pty.wait_for("name? ");
    pty.send("ada");
    pty.press(&["enter"]);
    assert_eq!(pty.wait_for_end(), ProgramExit { code: 3, signal: None });
    assert_eq!(pty.rows()[..2], ["name? ada", "hello ada"]);
    assert!(pty.screen().cell(1, 6).unwrap().bold());
}

#[test]
fn answers_terminal_queries() {
    let ask = r"stty raw -echo; printf 'at\033[6n\033]11;?\033\\\033[?u\033[c'; dd bs=1 count=45 2>/dev/null | tr '\033' 'E'";
    let pty = sh(ask).background("rgb:1111/2222/3333").kitty().spawn();
    pty.wait_for(r"atE[1;3RE]11;rgb:1111/2222/3333E\E[?0uE[?62;22c");
}

#[test]
fn records_sizes_titles_clipboards_and_bells() {
    let pty = sh("trap 'stty size' WINCH; printf '\\033]2;it\\007\\033]52;c;aGk=\\033\\\\\\a'; echo up; while :; do read x; done")
        .size(60, 10)
        .spawn();
    pty.wait_for("up");
    pty.resize(40, 12);
    pty.send("\n");
    pty.wait_for("12 40");
    let told = pty.terminal_commands();
    assert_eq!((told.titles, told.bells), (vec!["it".to_owned()], 1));
    assert_eq!(told.copied, [("c".to_owned(), "aGk=".to_owned())]);
}

#[test]
fn shows_only_complete_frames() {
    let pty = sh("printf '\\033[?2026hhalf'; read x; printf ' whole\\033[?2026l'; read x").spawn();
    pty.wait_for_bytes(0, b"half");
    pty.send("\n");
    let mut seen = Vec::new();
    pty.wait_until("a frame", |screen| {
        seen.push(screen.contents().contains("half"));
        screen.contents().contains("whole")
    });
    assert_eq!(seen.iter().filter(|half| **half).count(), 1);
}

#[test]
fn keeps_scrollback() {
    let pty = sh("seq 1 30; read x").spawn();
    pty.wait_for("30");
    assert_eq!(pty.history()[..3], ["1", "2", "3"]);
    assert_eq!(pty.rows()[0], "8");
}

#[test]
fn sends_signals_to_program() {
    let pty = PtySetup::new("sleep").arg("1000").spawn();
    pty.signal(rustix::process::Signal::TERM);
    assert!(pty.wait_for_end().signal.is_some());
}

#[test]
fn counts_printed_bytes() {
    let pty = sh("echo up; read x").spawn();
    pty.wait_for("up");
    assert_eq!(pty.printed_within(Duration::from_millis(50)), 0);
}

#[test]
#[should_panic(expected = "waited for \"never\" on the screen, but the program has ended")]
fn wait_fails_when_program_has_ended() {
    sh("echo ready").spawn().wait_for("never");
}

#[test]
fn resolves_key_names() {
    assert_eq!(key("ctrl+c"), b"\x03");
    assert_eq!(key("alt+enter"), b"\x1b\r");
    assert_eq!(key("é"), "é".as_bytes());
}
