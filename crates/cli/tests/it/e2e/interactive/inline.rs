//! Inline mode: the conversation is printed once to the terminal's own screen and stays there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haft_test_support::model_server::Scenario;
use haft_test_support::pty::Pty;

use super::seat::Seat;
use crate::e2e::scene::{Scene, bash};

fn inline(steps: Vec<Scenario>, args: &[&str]) -> Seat {
    at(Scene::new(steps), args)
}

fn at(scene: Scene, args: &[&str]) -> Seat {
    let all: Vec<&str> = ["--inline"].iter().chain(args).copied().collect();
    // The terminal of the tests truncates rows instead of wrapping them, like xterm.
    Seat::with(scene, &all, |setup| setup.env("XTERM_VERSION", "XTerm(390)"))
}

/// Waits until the normal screen is visible, or the alternate one.
#[track_caller]
fn is_alternate(seat: &Seat, wanted: bool) {
    seat.pty.wait_until("the other screen", |screen| screen.alternate_screen() == wanted);
}

/// Returns the number of rows with this text, including the scrollback.
#[track_caller]
fn stands(pty: &Pty, text: &str, times: usize) {
    let history = pty.history();
    let found = history.iter().filter(|row| row.contains(text)).count();
    assert_eq!(found, times, "{text:?} in\n{}", history.join("\n"));
}

/// Returns the screen and the scrollback, without trailing blank rows.
fn written(pty: &Pty) -> String {
    pty.history().join("\n").trim_end().to_owned()
}

/// Quits; then nothing remains below the conversation.
#[track_caller]
fn leave(seat: &Seat) {
    seat.pty.send(b"\x11");
    let ended = seat.pty.wait_for_end();
    assert_eq!((ended.code, ended.signal), (0, None), "{:?}", seat.pty);
    let screen = seat.pty.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
    let rows = seat.pty.history();
    let last = rows.iter().rfind(|row| !row.is_empty()).unwrap();
    assert!(last.starts_with("resume this session with: haft --resume "), "{}", rows.join("\n"));
    assert!(!rows.iter().any(|row| row.starts_with("────") || row == "›"), "{}", rows.join("\n"));
}

#[test]
fn prints_conversation_once() {
    let seat = inline(
        vec![Scenario::text("Hello from the model."), bash("t1", "seq 60"), Scenario::text("Counted.")],
        &[],
    );
    seat.say("say hello");
    seat.sees(&["Hello from the model."]);
    seat.editor_is_empty();
    assert!(!seat.pty.screen().alternate_screen());
    seat.say("and count");
    seat.sees(&["● bash  seq 60", "… +56 lines (ctrl+o)", "Counted."]);
    seat.editor_is_empty();
    for text in ["› say hello", "Hello from the model.", "› and count", "● bash  seq 60", "Counted."] {
        stands(&seat.pty, text, 1);
    }
    leave(&seat);
    for text in ["› say hello", "Hello from the model.", "› and count", "● bash  seq 60", "Counted."] {
        stands(&seat.pty, text, 1);
    }
}

#[test]
fn dialogs_leave_nothing_behind() {
    let scene = Scene::new(vec![bash("t1", "echo one"), Scenario::text("Done.")]);
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), "[tui]\nscreen = 'inline'\napprove = ['bash']\n")
        .unwrap();
    let seat = Seat::at(scene, &["go"]);
    seat.sees(&["haft asks", "\"command\": \"echo one\"", "›[Do not allow]"]);
    assert!(!seat.pty.screen().alternate_screen());
    seat.answer("haft asks", "y");
    seat.sees(&["Done."]);
    seat.editor_is_empty();
    let before = written(&seat.pty);
    for (command, shows) in [("/model", "esc cancel"), ("/help", "Show the keys and the commands")] {
        seat.say(command);
        is_alternate(&seat, true);
        seat.sees(&[shows]);
        seat.pty.press(&["esc"]);
        is_alternate(&seat, false);
        seat.editor_is_empty();
    }
    assert_eq!(written(&seat.pty), before);
    for text in ["› go", "● bash  echo one", "Done."] {
        stands(&seat.pty, text, 1);
    }
    stands(&seat.pty, "haft asks", 0);
    leave(&seat);
}

#[test]
fn unfolds_and_searches_on_alternate_screen() {
    let seat = inline(vec![bash("t1", "seq 60"), Scenario::text("Counted.")], &["count"]);
    seat.sees(&["Counted."]);
    seat.editor_is_empty();
    let before = written(&seat.pty);
    seat.pty.press(&["ctrl+o"]);
    is_alternate(&seat, true);
    seat.sees(&["  58", "Counted."]);
    seat.pty.press(&["esc"]);
    is_alternate(&seat, false);
    seat.pty.press(&["ctrl+s"]);
    is_alternate(&seat, true);
    seat.pty.send("seq 6");
    seat.sees(&["seq 60"]);
    seat.pty.press(&["enter", "esc"]);
    is_alternate(&seat, false);
    seat.editor_is_empty();
    assert_eq!(written(&seat.pty), before);
    leave(&seat);
}

#[test]
fn prints_long_answer_incrementally() {
    let paragraphs: Vec<String> = (0..80).map(|number| format!("Paragraph {number:02}.\n\n")).collect();
    let seat = inline(vec![Scenario::text(paragraphs.concat())], &["write"]);
    seat.sees(&["Paragraph 79."]);
    seat.editor_is_empty();
    for number in 0..80 {
        stands(&seat.pty, &format!("Paragraph {number:02}."), 1);
    }
    leave(&seat);
}

#[test]
fn resize_leaves_nothing_behind() {
    let seat = inline(vec![Scenario::text("Wide and narrow."), Scenario::text("Again.")], &["hello"]);
    seat.sees(&["Wide and narrow."]);
    seat.editor_is_empty();
    for (columns, rows) in [(60, 24), (100, 30), (40, 10), (80, 24)] {
        seat.pty.resize(columns, rows);
        let rule = "─".repeat(usize::from(columns));
        seat.pty.wait_for(&format!("{rule}\n›\n{rule}\n"));
        let ruled = seat.pty.history().iter().filter(|row| row.starts_with("──")).count();
        assert_eq!(ruled, 2, "{:?}", seat.pty);
        stands(&seat.pty, "Wide and narrow.", 1);
    }
    seat.say("again");
    seat.sees(&["Again."]);
    leave(&seat);
}

#[test]
fn resumed_conversation_shows_its_end() {
    let calls: Vec<Scenario> =
        (0..60).map(|number| bash(&format!("t{number}"), &format!("echo n{number:02}"))).collect();
    let scene = Scene::new([calls.as_slice(), &[Scenario::text("All echoed.")]].concat());
    scene.haft(&["-p", "--max-steps", "100", "echo"]);
    let seat = at(scene, &["-c"]);
    seat.sees(&["All echoed."]);
    stands(&seat.pty, "… 12 earlier entries · ctrl+o show", 1);
    stands(&seat.pty, "bash  echo n", 49);
    stands(&seat.pty, "bash  echo n59", 1);
    leave(&seat);
    stands(&seat.pty, "bash  echo n59", 1);
}

#[test]
fn separates_sessions_with_rule() {
    let seat = inline(vec![Scenario::text("One."), Scenario::text("Two.")], &["first question"]);
    seat.sees(&["One."]);
    seat.say("/new");
    seat.sees(&["── new session ─"]);
    seat.say("second question");
    seat.sees(&["Two."]);
    seat.say("/resume");
    is_alternate(&seat, true);
    seat.pty.send("first");
    seat.pty.wait_gone("second question");
    seat.pty.press(&["enter"]);
    is_alternate(&seat, false);
    seat.sees(&["── first question ─"]);
    seat.editor_is_empty();
    stands(&seat.pty, "› first question", 2);
    stands(&seat.pty, "› second question", 1);
    leave(&seat);
}

#[test]
fn hands_terminal_to_other_program() {
    let scene = Scene::new(vec![Scenario::text("Edited.")]);
    let editor = scene.world.project().join("editor");
    fs::write(&editor, "#!/bin/sh\necho the editor is here\nprintf 'from the editor' > \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let seat = Seat::with(scene, &["--inline"], |setup| setup.env("VISUAL", &editor));
    seat.say("!echo from the shell");
    seat.sees(&["  from the shell"]);
    seat.pty.press(&["ctrl+g"]);
    seat.sees(&["› from the editor"]);
    seat.pty.press(&["enter"]);
    seat.sees(&["Edited."]);
    for text in ["● shell  echo from the shell", "the editor is here", "› from the editor", "Edited."] {
        stands(&seat.pty, text, 1);
    }
    leave(&seat);
}
