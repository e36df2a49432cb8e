//! `haft -r` on a terminal: the session picker.

#![cfg(unix)]

use std::io::{Read as _, Write as _};

use haft_test_support::model_server::Scenario;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::requests::said;
use super::scene::Scene;

/// Runs `haft -r` on a terminal, presses these keys in the picker, and returns the outcome and the output.
fn chosen(scene: &Scene, keys: &[u8]) -> (u32, String) {
    let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 80, ..PtySize::default() }).unwrap();
    let mut command = CommandBuilder::from_argv(vec![env!("CARGO_BIN_EXE_haft").into()]);
    let args = scene.command(&["-p", "-r", "", "go on"]);
    let args: Vec<_> = args.get_args().filter(|arg| !arg.is_empty()).collect();
    command.args(args.into_iter().take_while(|arg| *arg != "-r"));
    command.args(["--resume=", "go on"]);
    command.env_clear();
    command.env("HAFT_HOME", scene.world.home());
    command.env("TERM", "xterm");
    command.cwd(scene.world.project());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut writer = pair.master.take_writer().unwrap();
    let (mut shown, mut typed, mut piece) = (Vec::new(), false, [0; 1024]);
    // Reading from a terminal whose program has ended is an error.
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        shown.extend_from_slice(&piece[..length]);
        if !typed && String::from_utf8_lossy(&shown).contains("about beta") {
            writer.write_all(keys).unwrap();
            typed = true;
        }
    }
    (child.wait().unwrap().exit_code(), String::from_utf8_lossy(&shown).into_owned())
}

fn two_sessions() -> Scene {
    let scene = Scene::new(["One.", "Two.", "Three."].map(Scenario::text).into());
    scene.haft(&["-p", "about alpha"]).expect(0);
    scene.haft(&["-p", "about beta"]).expect(0);
    scene
}

#[track_caller]
fn check(keys: &[u8], prompts: [&str; 2]) {
    let scene = two_sessions();
    let (code, shown) = chosen(&scene, keys);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(said(&scene.server.requests()[2], "user"), prompts, "{shown}");
}

#[test]
fn latest_is_first_and_arrows_select_others() {
    check(b"\r", ["about beta", "go on"]);
    check(b"\x1b[B\r", ["about alpha", "go on"]);
}

#[test]
fn typing_filters_sessions() {
    check(b"alph\r", ["about alpha", "go on"]);
}

#[test]
fn cancelling_starts_nothing_and_restores_terminal() {
    for key in [b"\x1b", b"\x03"] {
        let scene = two_sessions();
        let (code, shown) = chosen(&scene, key);
        assert_eq!(code, 130, "{key:?}: {shown}");
        assert_eq!(scene.server.requests().len(), 2);
        let cursor = |what: &str| shown.rfind(what);
        assert!(cursor("\x1b[?25l") <= cursor("\x1b[?25h"), "the cursor is seen: {shown:?}");
        // After the list, only the sequences that erase it follow.
        let behind = shown.rsplit("to cancel):").next().unwrap();
        assert!(behind.contains("\x1b[2K") && !behind.contains("about"), "{behind:?}");
    }
}
