//! Tests of inline mode in a pseudo-terminal.

use haft_test_support::pty::{ProgramExit, Pty, PtySetup};

use super::terminal::{PEER, is_restored, peer};

fn running() -> Pty {
    let pty = peer(&["inline", "mouse"]).env("XTERM_VERSION", "XTerm(390)").spawn();
    pty.wait_for("peer 80x24");
    pty
}

/// Returns the nonempty rows, including the scrollback.
fn written(pty: &Pty) -> Vec<String> {
    pty.history().into_iter().filter(|row| !row.is_empty()).collect()
}

fn quits(pty: &Pty, wanted: &[&str]) {
    pty.press(&["ctrl+d"]);
    assert_eq!(pty.wait_for_end(), ProgramExit { code: 0, signal: None });
    is_restored(pty);
    assert_eq!(written(pty), wanted, "{pty:?}");
}

#[test]
fn printed_rows_stay_and_viewport_is_removed() {
    let pty = running();
    let screen = pty.screen();
    assert!(!screen.alternate_screen() && screen.bracketed_paste(), "{pty:?}");
    // The terminal keeps the mouse.
    assert_eq!(screen.mouse_protocol_mode(), haft_test_support::pty::vt100::MouseProtocolMode::None);
    pty.press(&["a", "b"]);
    pty.wait_for("key a\nkey b\npeer 80x24");
    quits(&pty, &["key a", "key b", "key ctrl+d"]);
}

#[test]
fn switches_to_full_screen_and_back() {
    let pty = running();
    pty.press(&["a", "w"]);
    pty.wait_until("another screen", |screen| screen.alternate_screen());
    pty.wait_for("key a\nkey w");
    pty.press(&["b"]);
    pty.wait_until("the terminal's own screen", |screen| !screen.alternate_screen());
    pty.wait_for("key a\nkey w\nkey b\npeer 80x24");
    pty.press(&["w"]);
    pty.wait_until("another screen", |screen| screen.alternate_screen());
    quits(&pty, &["key a", "key w", "key b", "key w", "key ctrl+d"]);
}

#[test]
fn panic_keeps_printed_rows() {
    let pty = running();
    pty.press(&["a"]);
    pty.wait_for("key a\npeer 80x24");
    pty.press(&["ctrl+p"]);
    assert_ne!(pty.wait_for_end().code, 0);
    is_restored(&pty);
    let rows = written(&pty);
    assert_eq!(rows[0], "key a", "{pty:?}");
    assert!(rows.iter().any(|row| row.contains("on the thread of the terminal")), "{pty:?}");
}

#[test]
fn shell_stops_and_continues_process() {
    let script = "set -m; \"$PEER\" inline; echo stopped; read x; fg; echo over";
    let pty = PtySetup::new("sh").args(["-c", script]).env("PEER", &*PEER).spawn();
    pty.wait_for("peer 80x24");
    pty.press(&["a", "ctrl+z"]);
    pty.wait_for("stopped");
    is_restored(&pty);
    assert!(!written(&pty).iter().any(|row| row.starts_with("peer")), "{pty:?}");
    pty.send("\n");
    pty.wait_for("peer 80x24");
    pty.press(&["x", "ctrl+l"]);
    pty.wait_for("key ctrl+l\npeer 80x24");
    pty.press(&["ctrl+d"]);
    pty.wait_for("over");
    is_restored(&pty);
    let rows = written(&pty);
    for text in ["key a", "key ctrl+z", "key x", "key ctrl+l", "key ctrl+d", "over"] {
        assert_eq!(rows.iter().filter(|row| *row == text).count(), 1, "{text}: {pty:?}");
    }
    assert!(!rows.iter().any(|row| row.starts_with("peer")), "{pty:?}");
}
