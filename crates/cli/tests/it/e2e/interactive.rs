//! The interactive mode, in a real terminal: how it begins and how it ends.

#![cfg(unix)]

use std::ffi::OsString;

use haft_test_support::model_server::Scenario;
use haft_test_support::pty::{Pty, Setup};
use rustix::process::Signal;

use super::scene::Scene;

/// `haft` of a scene in a terminal.
fn terminal(scene: &Scene, args: &[&str]) -> Pty {
    setup(scene, args).spawn()
}

fn setup(scene: &Scene, args: &[&str]) -> Setup {
    let command = scene.command(args);
    let args: Vec<OsString> = command.get_args().map(Into::into).collect();
    let setup = Setup::new(env!("CARGO_BIN_EXE_haft")).args(args).cwd(&scene.world.project());
    command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?, value?)))
        .fold(setup, |setup, (name, value)| if name == "PATH" { setup } else { setup.env(name, value) })
}

/// The end of the program: its code, and nothing of a screen left behind.
#[track_caller]
fn ends_with(pty: &Pty, code: u32) {
    let ended = pty.wait_for_end();
    assert_eq!((ended.code, ended.signal), (code, None), "{}", pty.rows().join("\n"));
    let bytes = pty.bytes();
    let printed = String::from_utf8_lossy(&bytes);
    let last = |what: &str| printed.rfind(what);
    assert!(last("\x1b[?1049h") < last("\x1b[?1049l"), "the screen is given back: {printed:?}");
    assert!(last("\x1b[?25l") <= last("\x1b[?25h"), "the cursor is seen: {printed:?}");
    assert!(last("\x1b[?2004h") < last("\x1b[?2004l"), "pastes are as usual: {printed:?}");
}

#[test]
fn a_prompt_is_answered_and_quit_gives_the_terminal_back() {
    let scene = Scene::new(vec![Scenario::text("Hello from the model.")]);
    let pty = terminal(&scene, &[]);
    pty.wait_for("m ");
    pty.send("say hello");
    pty.press(&["enter"]);
    pty.wait_for("Hello from the model.");
    pty.send("/quit");
    pty.press(&["enter"]);
    ends_with(&pty, 0);
    // What was said stays on the normal screen, with the way to go on.
    pty.wait_for("Hello from the model.");
    pty.wait_for("haft --resume ");
}

#[test]
fn words_on_the_command_line_are_said_at_once() {
    let scene = Scene::new(vec![Scenario::text("Done as you said.")]);
    let pty = terminal(&scene, &["do", "this"]);
    pty.wait_for("Done as you said.");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn a_polite_signal_ends_it_with_the_terminal_as_it_was() {
    let scene = Scene::new(vec![Scenario::text("Hello.")]);
    let pty = terminal(&scene, &["hi"]);
    pty.wait_for("Hello.");
    pty.signal(Signal::TERM);
    ends_with(&pty, 130);
    let listed = scene.haft(&["session", "list"]);
    assert!(listed.stdout.contains("hi"), "{listed:?}");
}

#[test]
fn without_a_provider_the_reason_is_on_the_normal_screen() {
    let scene = Scene::new(Vec::new());
    let pty = Setup::new(env!("CARGO_BIN_EXE_haft"))
        .args(["--provider", "anthropic"])
        .env("HAFT_HOME", scene.world.home())
        .cwd(&scene.world.project())
        .spawn();
    let ended = pty.wait_for_end();
    assert_eq!(ended.code, 6, "{}", pty.rows().join("\n"));
    pty.wait_for("ANTHROPIC_API_KEY");
    assert!(!String::from_utf8_lossy(&pty.bytes()).contains("\x1b[?1049h"));
}

#[test]
fn without_a_terminal_there_is_nothing_to_do() {
    let scene = Scene::new(Vec::new());
    let ran = scene.haft(&[]);
    ran.expect(2);
    assert!(ran.stderr.contains("give a prompt with -p, or start haft on a terminal"), "{ran:?}");
}

#[test]
fn what_is_piped_out_is_the_answer_alone() {
    let scene = Scene::new(vec![Scenario::text("Only this.")]);
    let ran = scene.haft(&["hi"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "Only this.\n");
}
