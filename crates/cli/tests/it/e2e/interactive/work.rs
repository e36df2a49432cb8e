//! Input while the agent works: interrupts and messages.

use std::fs;

use haft_test_support::model_server::{AnswerFault, Scenario};

use super::terminal_session::TerminalSession;
use crate::e2e::requests::said;
use crate::e2e::scene::{Scene, bash};

#[test]
fn esc_stops_turn_and_returns_queued_message() {
    let hangs = Scenario::text("I begin.").fault(AnswerFault::Hang);
    let terminal = TerminalSession::at(Scene::new(vec![hangs, Scenario::text("Both, then.")]), &["begin"]);
    terminal.sees(&["I begin.", "esc to stop"]);
    terminal.say_meanwhile("look here");
    terminal.sees(&["↳ steer: look here"]);
    terminal.pty.send("then there");
    terminal.pty.press(&["alt+enter"]);
    terminal.sees(&["↳ follow-up: then there"]);
    terminal.pty.press(&["esc"]);
    terminal.pty.wait_gone("esc to stop");
    terminal.pty.wait_gone("↳");
    terminal.sees(&["› look here", "then there", "stopped"]);
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Both, then."]);
    let told = said(&terminal.scene.server.requests()[1], "user").join("\n");
    assert!(told.contains("look here") && told.contains("then there"), "{told}");
    terminal.leave();
}

#[test]
fn delivers_steering_and_follow_up_messages() {
    let scene = Scene::new(vec![
        bash("t1", "mkfifo gate && cat gate"),
        Scenario::text("I heed it."),
        Scenario::text("And that."),
    ]);
    let terminal = TerminalSession::at(scene, &["work"]);
    terminal.sees(&["bash  mkfifo gate", "esc to stop"]);
    terminal.say_meanwhile("mind the gap");
    terminal.sees(&["↳ steer: mind the gap"]);
    terminal.pty.send("sweep up");
    terminal.pty.press(&["alt+enter"]);
    terminal.sees(&["↳ follow-up: sweep up"]);
    let gate = terminal.scene.world.project().join("gate");
    assert!(crate::e2e::running::eventually(|| gate.exists()));
    fs::write(gate, "opened\n").unwrap();
    terminal.sees(&["I heed it.", "And that."]);
    terminal.pty.wait_gone("↳");
    let requests = terminal.scene.server.requests();
    assert_eq!(said(&requests[1], "user"), ["work", "mind the gap"]);
    assert_eq!(said(&requests[2], "user"), ["work", "mind the gap", "sweep up"]);
    terminal.leave();
}

#[test]
fn elapsed_time_updates_without_events() {
    let terminal = TerminalSession::at(Scene::new(vec![bash("t1", "mkfifo gate && cat gate")]), &["work"]);
    terminal.sees(&["bash  mkfifo gate", "esc to stop"]);
    terminal.changes("esc to stop");
    terminal.leave();
}

#[test]
fn command_cannot_use_terminal() {
    let terminal = TerminalSession::at(Scene::new(vec![Scenario::text("Hello.")]), &[]);
    for (command, told) in [
        ("!!head -c1 /dev/tty", "cannot open '/dev/tty'"),
        ("!!stty -echo < /dev/tty; echo still $((40 + 2))", "still 42"),
    ] {
        terminal.say(command);
        terminal.sees(&[told]);
        // `/clear` keeps a command that still runs.
        terminal.pty.wait_gone("esc to stop");
        terminal.say("/clear");
        terminal.pty.wait_gone(told);
    }
    terminal.say("hi");
    terminal.sees(&["Hello."]);
    terminal.leave();
}

/// Checks that no row is wider than the screen, and that the last row begins with the model.
#[track_caller]
fn fits(terminal: &TerminalSession, (columns, rows): (u16, u16)) {
    terminal.pty.resize(columns, rows);
    terminal.pty.wait_until("the status in the last row", |screen| {
        screen.rows(0, columns).last().is_some_and(|row| row.starts_with("m "))
            || screen.rows(0, columns).last().is_some_and(|row| row.trim_end() == "m")
    });
}

#[test]
fn resizes_during_answer() {
    let text = "A sentence that is longer than forty columns are, so it is wrapped. Its end.";
    let terminal =
        TerminalSession::at(Scene::new(vec![Scenario::text(text).fault(AnswerFault::Hang)]), &["tell"]);
    terminal.sees(&["Its end."]);
    for size in [(40, 12), (20, 6), (100, 30), (80, 24)] {
        fits(&terminal, size);
        terminal.sees(&["end."]);
    }
    terminal
        .sees(&["A sentence that is longer than forty columns are, so it is wrapped. Its end.", "› tell"]);
    terminal.pty.press(&["esc"]);
    terminal.pty.wait_gone("esc to stop");
    terminal.leave();
}

#[test]
fn diff_shows_files_changed_since_session_start() {
    let scene = Scene::new(vec![bash("t1", "echo two > a.txt"), Scenario::text("Changed.")]);
    let terminal = TerminalSession::at(scene, &[]);
    terminal.say("/diff");
    terminal.sees(&["/diff needs a git repository"]);
    terminal.say("!!git init -q . && echo one > a.txt && echo ready $((40 + 2))");
    terminal.sees(&["ready 42"]);
    terminal.pty.wait_gone("esc to stop");
    terminal.say("/new");
    terminal.pty.wait_gone("ready 42");
    terminal.say("/diff");
    terminal.sees(&["no file has changed since this session was opened"]);
    terminal.say("go");
    terminal.sees(&["Changed."]);
    terminal.say("/diff");
    terminal.sees(&["1 file, +1 −1", "- one", "+ two", "esc close"]);
    terminal.pty.press(&["esc"]);
    terminal.pty.wait_gone("esc close");
    terminal.leave();
}

/// The commit needs an editor, which only the terminal of the person has.
#[test]
fn command_with_editor_runs_in_terminal() {
    let scene = Scene::new(vec![Scenario::text("Noted.")]);
    let editor = scene.world.project().join("my-editor");
    fs::create_dir_all(scene.world.project()).unwrap();
    fs::write(&editor, "#!/bin/sh\nread words\necho \"$words\" > \"$1\"\n").unwrap();
    fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let commit = "git init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty";
    fs::write(scene.world.project().join("commit"), commit).unwrap();
    let terminal = TerminalSession::with(scene, &[], |setup| setup.env("GIT_EDITOR", &editor));
    terminal.say("!sh ./commit");
    terminal.sees(&["Run the command in your terminal?", "sandbox, and with all your environment"]);
    terminal.answer("Run the command in your terminal?", "y");
    terminal.pty.wait_until("the terminal of the person", |screen| !screen.alternate_screen());
    terminal.pty.send("from the terminal\n");
    terminal.sees(&["exit status 0; press enter to return to haft"]);
    terminal.pty.send("\n");
    terminal.sees(&["ran in the terminal and exited with status 0"]);
    let message = terminal.scene.world.project().join(".git/COMMIT_EDITMSG");
    assert_eq!(fs::read_to_string(message).unwrap(), "from the terminal\n");
    terminal.say("hi");
    terminal.sees(&["Noted."]);
    let told = said(&terminal.scene.server.requests()[0], "user").join("\n");
    assert!(told.contains("in my own terminal"), "{told}");
    terminal.leave();
}
