//! The linear mode, on a terminal without cursor control.

#![cfg(unix)]

use std::time::Duration;

use haft_test_support::model_server::Scenario;
use haft_test_support::pty::{Pty, vt100};
use rustix::process::Signal;

use super::interactive::terminal_session::setup;
use super::requests::said;
use super::scene::{Scene, bash};

fn dumb(scene: &Scene, args: &[&str]) -> Pty {
    setup(scene, args).env("TERM", "dumb").spawn()
}

/// Checks the exit code, and that only lines were printed.
#[track_caller]
fn ends_with(pty: &Pty, code: u32) {
    let ended = pty.wait_for_end();
    assert_eq!((ended.code, ended.signal), (code, None), "{}", pty.rows().join("\n"));
    assert!(!pty.bytes().contains(&0x1b), "{:?}", String::from_utf8_lossy(&pty.bytes()));
}

#[test]
fn answers_prompts_and_selects_from_a_list() {
    let scene = Scene::new(vec![Scenario::text("Hello from the model."), Scenario::text("And again.")]);
    let pty = dumb(&scene, &[]);
    pty.wait_for("type a prompt and press enter");
    pty.send("say hello\n");
    pty.wait_for("assistant: Hello from the model.\nready");
    pty.send("/model\n");
    pty.wait_for("a number selects a row");
    pty.send(":close\n");
    pty.wait_for("closed");
    pty.send("once \\\nmore\n");
    pty.wait_for("And again.\nready");
    assert_eq!(said(&scene.server.requests()[1], "user").last().map(String::as_str), Some("once \nmore"));
    pty.send("/quit\n");
    ends_with(&pty, 0);
}

#[test]
fn allows_and_denies_calls() {
    let steps = vec![bash("t1", "echo one >one"), bash("t2", "echo two >two"), Scenario::text("Both tried.")];
    let scene = Scene::new(steps);
    std::fs::create_dir_all(scene.world.home()).unwrap();
    std::fs::write(scene.world.home().join("config.toml"), "[tools]\napprove = ['bash']\n").unwrap();
    let pty = dumb(&scene, &["try both"]);
    pty.wait_for("\"command\": \"echo one >one\"");
    pty.wait_for("answer y to allow");
    // An early answer is reported and ignored, so it is given again.
    let answer = |word: &str, is: &str| {
        let early = |screen: &vt100::Screen| screen.contents().matches("typed too early").count();
        let mut seen = early(&pty.screen());
        loop {
            pty.send(format!("{word}\n"));
            let mut done = false;
            pty.wait_until("what came of it", |screen| {
                done = screen.contents().contains(&format!("\n{is}\n"));
                done || early(screen) > seen
            });
            if done {
                return;
            }
            seen += 1;
            pty.printed_within(Duration::from_millis(400));
        }
    };
    answer("y", "allowed");
    pty.wait_for("\"command\": \"echo two >two\"");
    answer("n", "denied");
    pty.wait_for("Both tried.\nready");
    assert!(scene.world.project().join("one").exists() && !scene.world.project().join("two").exists());
    pty.send("\x04");
    ends_with(&pty, 0);
}

#[test]
fn first_interrupt_stops_run_and_second_quits() {
    let scene = Scene::new(vec![bash("t1", "sleep 600")]);
    let pty = dumb(&scene, &["wait"]);
    pty.wait_for("tool bash: sleep 600");
    pty.send("\x03");
    pty.wait_for("ready");
    pty.send("\x03");
    pty.wait_for("ctrl+c again to quit");
    pty.send("\x03");
    ends_with(&pty, 0);
}

#[test]
fn ends_on_sigterm_and_flag_works_on_any_terminal() {
    let scene = Scene::new(vec![Scenario::text("Hello.")]);
    let pty = setup(&scene, &["--linear", "hi"]).spawn();
    pty.wait_for("assistant: Hello.\nready");
    pty.signal(Signal::TERM);
    ends_with(&pty, 130);
}
