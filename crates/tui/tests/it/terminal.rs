//! Tests of the loop in a pseudo-terminal: its changes of the terminal, and their reversal.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use haft_test_support::example_path;
use haft_test_support::pty::{ProgramExit, Pty, PtySetup};
use rustix::process::Signal;

pub(crate) static PEER: LazyLock<PathBuf> = LazyLock::new(|| {
    example_path(
        "haft-tui",
        "terminal-peer",
        &["crates/tui/src", "crates/tui/tests/peers", "crates/core/src"],
    )
});

pub(crate) fn peer(args: &[&str]) -> PtySetup {
    PtySetup::new(&*PEER).args(args)
}

fn running(args: &[&str]) -> Pty {
    let pty = peer(args).spawn();
    pty.wait_for("peer 80x24");
    pty
}

fn quit(pty: &Pty) {
    pty.press(&["ctrl+d"]);
    assert_eq!(pty.wait_for_end(), ProgramExit { code: 0, signal: None });
}

/// Checks that every enabled mode is disabled again, and vice versa.
#[track_caller]
pub(crate) fn is_restored(pty: &Pty) {
    let bytes = pty.bytes();
    let text = String::from_utf8_lossy(&bytes);
    for number in ["1049", "2004", "1000", "1002", "1006"] {
        let last = |end: char| text.rfind(&format!("\x1b[?{number}{end}"));
        assert!(last('h').is_none() || last('h') < last('l'), "{number}: {pty:?}");
    }
    assert_eq!(text.matches("\x1b[>1u").count(), text.matches("\x1b[<1u").count(), "{pty:?}");
    assert_eq!(text.matches("\x1b[22;2t").count(), text.matches("\x1b[23;2t").count(), "{pty:?}");
    let screen = pty.screen();
    assert!(!screen.hide_cursor() && !screen.alternate_screen() && !screen.bracketed_paste(), "{pty:?}");
}

#[test]
fn takes_and_restores_terminal() {
    let pty = running(&["mouse"]);
    let screen = pty.screen();
    assert!(screen.alternate_screen() && screen.bracketed_paste(), "{pty:?}");
    assert_eq!(screen.mouse_protocol_mode(), haft_test_support::pty::vt100::MouseProtocolMode::ButtonMotion);
    assert_eq!(pty.terminal_commands().titles, ["peer"]);
    quit(&pty);
    is_restored(&pty);
    // The end of the transcript stays.
    assert!(pty.rows()[0].starts_with("key ctrl+d"), "{pty:?}");
}

#[test]
fn restores_line_mode() {
    let script = "stty -a > before; \"$PEER\"; stty -a > after; cmp before after && echo same";
    let home = tempfile::tempdir().unwrap();
    let setup = PtySetup::new("sh").args(["-c", script]).env("PEER", &*PEER).cwd(home.path());
    let pty = setup.spawn();
    pty.wait_for("peer 80x24");
    pty.press(&["ctrl+d"]);
    pty.wait_for("same");
}

#[test]
fn panic_restores_terminal_before_message() {
    let pty = running(&["mouse"]);
    pty.press(&["ctrl+p"]);
    assert_eq!(pty.wait_for_end().code, 101);
    is_restored(&pty);
    assert!(pty.rows().join("\n").contains("on the thread of the terminal"), "{pty:?}");
}

#[test]
fn panic_of_request_ends_loop() {
    let pty = running(&[]);
    pty.press(&["ctrl+x"]);
    assert_eq!(pty.wait_for_end().code, 101);
    is_restored(&pty);
    assert!(pty.rows().join("\n").contains("the program fails"), "{pty:?}");
}

#[test]
fn panic_of_other_thread_is_printed_at_exit() {
    let pty = running(&[]);
    pty.press(&["ctrl+o", "x"]);
    pty.wait_for("key x");
    assert!(!pty.rows().join("\n").contains("another"), "{pty:?}");
    quit(&pty);
    assert!(pty.rows().join("\n").contains("on another thread"), "{pty:?}");
}

#[test]
fn signals_end_loop() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1), (Signal::INT, 2)] {
        let pty = running(&["mouse"]);
        pty.signal(signal);
        assert_eq!(pty.wait_for_end(), ProgramExit { code: 128 + number, signal: None });
        is_restored(&pty);
    }
}

#[test]
fn draws_new_size() {
    let pty = running(&[]);
    pty.resize(40, 10);
    pty.wait_for("peer 40x10");
    pty.resize(100, 30);
    pty.wait_for("peer 100x30");
    quit(&pty);
}

#[test]
fn receives_keys_pastes_and_clicks() {
    let pty = running(&["mouse"]);
    pty.paste("one\r\ntwo\x1b[31mé");
    pty.wait_for(r#"paste "one\ntwo\u{1b}[31mé""#);
    pty.press(&["a", "ctrl+k", "alt+enter", "up", "esc"]);
    pty.wait_for("key a\nkey ctrl+k\nkey alt+enter\nkey up\nkey esc");
    pty.send("\x1b[<0;5;3M\x1b[<0;5;3m\x1b[<65;1;1M");
    pty.wait_for("Press 4 2\nRelease 4 2\nWheelDown 0 0");
    quit(&pty);
}

#[test]
fn uses_program_services_and_connection() {
    let pty = running(&[]);
    pty.press(&["ctrl+a"]);
    pty.wait_for(r#"Branch(Some("main"))"#);
    pty.press(&["ctrl+r"]);
    pty.wait_for("1 lines");
    quit(&pty);
}

#[test]
fn reports_end_of_connection_once() {
    let pty = peer(&["gone"]).spawn();
    pty.wait_for("gone");
    pty.press(&["x"]);
    pty.wait_for("gone\nkey x");
    quit(&pty);
}

#[test]
fn many_lines_draw_few_frames() {
    let pty = peer(&["flood"]).spawn();
    pty.wait_for("50000 lines");
    let text = String::from_utf8_lossy(&pty.bytes()).into_owned();
    let frames = text.matches("\x1b[?2026h").count();
    assert!(frames < 2_000, "{frames} frames for 50000 lines");
    quit(&pty);
}

#[test]
fn copies_to_clipboard_and_rejects_long_text() {
    let pty = running(&[]);
    pty.press(&["ctrl+y"]);
    pty.wait_for_commands("a copy", |told| told.copied == [("c".to_owned(), "Y29waWVk".to_owned())]);
    pty.wait_for("copied Ok(())");
    pty.press(&["ctrl+n"]);
    pty.wait_for("copied Err(\"The text is longer than 73 KiB");
    pty.press(&["ctrl+b"]);
    pty.wait_for_commands("a bell", |told| told.bells == 1 && told.titles == ["peer", "the title"]);
    quit(&pty);
}

#[test]
fn queries_background() {
    let light = peer(&[]).background("rgb:ffff/ffff/ffff").spawn();
    light.wait_for("peer 80x24 Light");
    light.press(&["x"]);
    light.wait_for("key x");
    assert_eq!(light.rows()[1], "key x", "a reply is not a key: {light:?}");
    let dark = peer(&[]).background("rgb:1e1e/1e1e/2e2e").env("COLORFGBG", "0;15").spawn();
    dark.wait_for("peer 80x24 Dark");
    let deaf = peer(&[]).without_answers().env("COLORFGBG", "0;15").spawn();
    deaf.wait_for("peer 80x24 Light");
    let told = peer(&["dark"]).background("rgb:ffff/ffff/ffff").spawn();
    told.wait_for("peer 80x24 Dark");
    assert!(!String::from_utf8_lossy(&told.bytes()).contains("\x1b]11;"), "{told:?}");
}

#[test]
fn late_reply_is_not_text() {
    let pty = peer(&[]).without_answers().spawn();
    pty.wait_for("peer 80x24 Dark");
    pty.send("a\x1b]11;rgb:ffff/ffff/ffff\x1b\\b");
    pty.wait_for("peer 80x24 Light");
    pty.wait_for("key a\nkey b");
    quit(&pty);
}

#[test]
fn handles_keys_typed_before_first_frame() {
    let pty = peer(&[]).without_answers().spawn();
    pty.wait_for_bytes(0, b"\x1b]11;?");
    pty.send("xy");
    pty.wait_for("key x\nkey y");
    quit(&pty);
}

#[test]
fn uses_no_colors_with_no_color() {
    let pty = peer(&[]).env("NO_COLOR", "1").spawn();
    pty.wait_for("peer 80x24");
    assert_eq!(pty.screen().cell(0, 0).unwrap().fgcolor(), haft_test_support::pty::vt100::Color::Default);
    quit(&pty);
    let pty = running(&[]);
    assert_ne!(pty.screen().cell(0, 0).unwrap().fgcolor(), haft_test_support::pty::vt100::Color::Default);
    quit(&pty);
}

#[test]
fn idle_loop_writes_nothing() {
    let pty = running(&[]);
    pty.press(&["x"]);
    pty.wait_for("key x");
    // The effect of the key ends sooner or later.
    let second = Duration::from_secs(1);
    assert!((0..60).any(|_| pty.printed_within(second) == 0), "{pty:?}");
    let is_idle = || pty.wake_ups_within(second).is_none_or(|count| count <= 2);
    assert!((0..60).any(|_| is_idle()), "the idle process wakes up too often");
    assert_eq!(pty.printed_within(Duration::ZERO), 0, "{pty:?}");
    quit(&pty);
}

#[test]
fn sends_ticks_on_request() {
    let pty = running(&[]);
    pty.press(&["ctrl+t"]);
    pty.wait_for("tick\ntick\ntick");
    quit(&pty);
}

#[test]
fn tick_arrives_though_time_is_postponed() {
    let pty = running(&[]);
    pty.press(&["ctrl+u"]);
    pty.wait_for("tick\ntick\ntick");
    quit(&pty);
}

#[test]
fn redraws_on_request() {
    let pty = running(&[]);
    let before = pty.bytes().len();
    pty.press(&["ctrl+l"]);
    pty.wait_for_bytes(before, b"\x1b[2J");
    pty.wait_for("key ctrl+l");
    quit(&pty);
}

#[test]
fn external_editor_returns_text() {
    let home = tempfile::tempdir().unwrap();
    let editor = home.path().join("my editor");
    let script = "#!/bin/sh\nstty -a | grep -q ' icanon' && echo cooked\ncat \"$2\"; echo; read answer\nprintf '%s\\n' \"$answer\" > \"$2\"\n";
    std::fs::write(&editor, script).unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
    std::fs::set_permissions(&editor, mode).unwrap();
    let pty = peer(&[]).env("VISUAL", format!("'{}' -w", editor.display())).spawn();
    pty.wait_for("peer 80x24");
    pty.press(&["ctrl+e"]);
    pty.wait_for("cooked\nthe draft");
    assert!(!pty.screen().alternate_screen(), "{pty:?}");
    // An interrupt reaches only the editor, which ignores it.
    pty.signal(Signal::INT);
    pty.send("what I meant\n");
    pty.wait_for("edited Ok(\"what I meant\")");
    pty.press(&["x"]);
    pty.wait_for("key x");
    quit(&pty);
    is_restored(&pty);
}

#[test]
fn shell_command_gets_terminal_and_returns() {
    let pty = running(&["mouse"]);
    pty.press(&["ctrl+g"]);
    pty.wait_for("real");
    let screen = pty.screen();
    assert!(!screen.alternate_screen() && !screen.bracketed_paste(), "{pty:?}");
    pty.send("3\n");
    pty.wait_for("[exit status 3; press enter to return to haft]");
    pty.send("\n");
    pty.wait_for("ran Ok(Some(3))");
    assert!(pty.screen().alternate_screen(), "{pty:?}");
    pty.press(&["x"]);
    pty.wait_for("key x");
    quit(&pty);
    is_restored(&pty);
}

#[test]
fn signal_leaves_external_editor_alone() {
    let home = tempfile::tempdir().unwrap();
    let editor = home.path().join("editor");
    let script =
        "#!/bin/sh\nprintf 'my text' > \"$1\"\nprintf '%s' \"$1\" > \"$0.path\"\necho OPEN\nread answer\n";
    std::fs::write(&editor, script).unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
    std::fs::set_permissions(&editor, mode).unwrap();
    let pty = peer(&[]).env("VISUAL", &editor).spawn();
    pty.wait_for("peer 80x24");
    pty.press(&["ctrl+e"]);
    pty.wait_for("OPEN");
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait_for_end(), ProgramExit { code: 143, signal: None });
    let bytes = pty.bytes();
    assert!(String::from_utf8_lossy(&bytes).trim_end().ends_with("OPEN"), "{pty:?}");
    let draft = std::fs::read_to_string(editor.with_extension("path")).unwrap();
    assert_eq!(std::fs::read_to_string(&draft).unwrap(), "my text");
    std::fs::remove_file(draft).unwrap();
    is_restored(&pty);
}

#[test]
fn reports_missing_editor() {
    let pty = peer(&[]).env("EDITOR", "no-such-editor").spawn();
    pty.wait_for("peer 80x24");
    pty.press(&["ctrl+e"]);
    pty.wait_for("edited Err(\"Cannot start the editor no-such-editor");
    quit(&pty);
}

#[test]
fn shell_stops_and_continues_process() {
    let script = "set -m; \"$PEER\"; echo stopped; read x; fg; echo over";
    let pty = PtySetup::new("sh").args(["-c", script]).env("PEER", &*PEER).spawn();
    pty.wait_for("peer 80x24");
    pty.press(&["ctrl+z"]);
    pty.wait_for("stopped");
    is_restored(&pty);
    pty.resize(60, 20);
    pty.send("\n");
    pty.wait_for("peer 60x20");
    assert!(pty.screen().alternate_screen(), "{pty:?}");
    pty.press(&["x"]);
    pty.wait_for("key x");
    pty.press(&["ctrl+d"]);
    pty.wait_for("over");
    is_restored(&pty);
}

#[test]
fn continue_signal_without_stop_takes_terminal_once() {
    let pty = running(&["mouse"]);
    for _ in 0..2 {
        let before = pty.bytes().len();
        pty.signal(Signal::CONT);
        // The state of the terminal is unknown, so everything is redrawn.
        pty.wait_for_bytes(before, b"\x1b[?1049h");
        pty.wait_for_bytes(before, b"peer 80x24");
    }
    quit(&pty);
    is_restored(&pty);
}

#[test]
fn suspend_without_shell_does_nothing() {
    let pty = running(&[]);
    pty.press(&["ctrl+z", "x"]);
    pty.wait_for("key x");
    quit(&pty);
}

#[test]
fn fails_without_terminal() {
    let pty = PtySetup::new("sh").args(["-c", "\"$PEER\" < /dev/null"]).env("PEER", &*PEER).spawn();
    assert_eq!(pty.wait_for_end().code, 2);
    assert!(pty.rows()[0].starts_with("standard input is not a terminal"), "{pty:?}");
}
