//! The composer: long pastes, and small screens.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_test_support::model_server::Scenario;

use super::PICTURE;
use super::terminal_session::TerminalSession;
use crate::e2e::requests::said;
use crate::e2e::scene::Scene;

#[test]
fn folds_long_paste_and_sends_all() {
    let terminal = TerminalSession::at(Scene::new(vec![Scenario::text("Read.")]), &[]);
    let text: Vec<String> = (1..=60).map(|line| format!("pasted line {line}")).collect();
    let text = text.join("\n");
    terminal.pty.send("read: ");
    terminal.pty.paste(&text);
    terminal.sees(&["› read: [", "60 lines"]);
    assert!(!terminal.pty.rows().join("\n").contains("pasted line 30"));
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Read."]);
    assert_eq!(said(&terminal.scene.server.requests()[0], "user"), [format!("read: {text}")]);
    terminal.leave();
}

#[test]
fn works_in_twenty_columns_and_six_rows() {
    let scene = Scene::new(vec![Scenario::text("Small."), Scenario::text("Again.")]).shipped("todo");
    let terminal = TerminalSession::with(scene, &[], |setup| setup.size(20, 6));
    terminal.say("hi there");
    terminal.sees(&["Small."]);
    for (command, shown) in [
        ("/help", "Help"),
        ("/model", "Model"),
        ("/todo", "Todos"),
        ("/settings", "Settings"),
        ("/login", "Save an"),
    ] {
        terminal.say(command);
        terminal.sees(&[shown]);
        terminal.pty.press(&["esc"]);
        terminal.sees(&["Small."]);
        terminal.editor_is_empty();
    }
    terminal.say("more");
    terminal.sees(&["Again."]);
    terminal.leave();
}

/// A `wl-paste` that prints the file `image` for an image, and else the file `text`.
const CLIPBOARD_PROGRAM: &str = r#"#!/bin/sh
dir=$(dirname "$0")
case "$*" in
*image/png) exec cat "$dir/image" ;;
*) exec cat "$dir/text" ;;
esac
"#;

#[test]
fn pastes_text_and_image_of_the_clipboard() {
    let scene = Scene::new(vec![Scenario::text("Seen.")]);
    let bin = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &[u8]| fs::write(bin.path().join(name), content).unwrap();
    put("wl-paste", CLIPBOARD_PROGRAM.as_bytes());
    fs::set_permissions(bin.path().join("wl-paste"), Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let terminal =
        TerminalSession::with(scene, &[], |setup| setup.env("PATH", path).env("WAYLAND_DISPLAY", "w-0"));
    terminal.pty.press(&["ctrl+v"]);
    terminal.sees(&["cannot read the clipboard: no program"]);
    put("text", b"what is in ");
    terminal.pty.press(&["ctrl+v"]);
    terminal.sees(&["› what is in"]);
    put("image", &STANDARD.decode(PICTURE).unwrap());
    terminal.pty.press(&["ctrl+v"]);
    terminal.sees(&["[image"]);
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Seen."]);
    let sent = terminal.scene.server.requests()[0].body.to_string();
    assert!(sent.contains("what is in ") && sent.contains("data:image/png;base64,iVBOR"), "{sent}");
    terminal.leave();
}
