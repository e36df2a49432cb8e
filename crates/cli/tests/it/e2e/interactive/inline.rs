//! Inline mode: the conversation is printed once to the terminal's own screen and stays there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haft_test_support::model_server::Scenario;
use haft_test_support::pty::Pty;

use super::terminal_session::TerminalSession;
use crate::e2e::scene::{Scene, bash};

fn inline(steps: Vec<Scenario>, args: &[&str]) -> TerminalSession {
    at(Scene::new(steps), args)
}

fn at(scene: Scene, args: &[&str]) -> TerminalSession {
    let all: Vec<&str> = ["--inline"].iter().chain(args).copied().collect();
    // The terminal of the tests truncates rows instead of wrapping them, like xterm.
    TerminalSession::with(scene, &all, |setup| setup.env("XTERM_VERSION", "XTerm(390)"))
}

/// Waits until the normal screen is visible, or the alternate one.
#[track_caller]
fn is_alternate(terminal: &TerminalSession, wanted: bool) {
    terminal.pty.wait_until("the other screen", |screen| screen.alternate_screen() == wanted);
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
fn leave(terminal: &TerminalSession) {
    terminal.pty.send(b"\x11");
    let ended = terminal.pty.wait_for_end();
    assert_eq!((ended.code, ended.signal), (0, None), "{:?}", terminal.pty);
    let screen = terminal.pty.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
    let rows = terminal.pty.history();
    let last = rows.iter().rfind(|row| !row.is_empty()).unwrap();
    assert!(last.starts_with("resume this session with: haft --resume "), "{}", rows.join("\n"));
    assert!(!rows.iter().any(|row| row.starts_with("────") || row == "›"), "{}", rows.join("\n"));
}

#[test]
fn prints_conversation_once() {
    let terminal = inline(
        vec![Scenario::text("Hello from the model."), bash("t1", "seq 60"), Scenario::text("Counted.")],
        &[],
    );
    terminal.say("say hello");
    terminal.sees(&["Hello from the model."]);
    terminal.editor_is_empty();
    assert!(!terminal.pty.screen().alternate_screen());
    terminal.say("and count");
    terminal.sees(&["● bash  seq 60", "… +56 lines (ctrl+o)", "Counted."]);
    terminal.editor_is_empty();
    for text in ["› say hello", "Hello from the model.", "› and count", "● bash  seq 60", "Counted."] {
        stands(&terminal.pty, text, 1);
    }
    leave(&terminal);
    for text in ["› say hello", "Hello from the model.", "› and count", "● bash  seq 60", "Counted."] {
        stands(&terminal.pty, text, 1);
    }
}

#[test]
fn dialogs_leave_nothing_behind() {
    let scene = Scene::new(vec![bash("t1", "echo one"), Scenario::text("Done.")]);
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), "[tui]\nscreen = 'inline'\napprove = ['bash']\n")
        .unwrap();
    let terminal = TerminalSession::at(scene, &["go"]);
    terminal.sees(&["haft asks", "\"command\": \"echo one\"", "›[Do not allow]"]);
    assert!(!terminal.pty.screen().alternate_screen());
    terminal.answer("haft asks", "y");
    terminal.sees(&["Done."]);
    terminal.editor_is_empty();
    let before = written(&terminal.pty);
    for (command, shows) in [("/model", "esc cancel"), ("/help", "Show the keys and the commands")] {
        terminal.say(command);
        is_alternate(&terminal, true);
        terminal.sees(&[shows]);
        terminal.pty.press(&["esc"]);
        is_alternate(&terminal, false);
        terminal.editor_is_empty();
    }
    assert_eq!(written(&terminal.pty), before);
    for text in ["› go", "● bash  echo one", "Done."] {
        stands(&terminal.pty, text, 1);
    }
    stands(&terminal.pty, "haft asks", 0);
    leave(&terminal);
}

#[test]
fn unfolds_and_searches_on_alternate_screen() {
    let terminal = inline(vec![bash("t1", "seq 60"), Scenario::text("Counted.")], &["count"]);
    terminal.sees(&["Counted."]);
    terminal.editor_is_empty();
    let before = written(&terminal.pty);
    terminal.pty.press(&["ctrl+o"]);
    is_alternate(&terminal, true);
    terminal.sees(&["  58", "Counted."]);
    terminal.pty.press(&["esc"]);
    is_alternate(&terminal, false);
    terminal.pty.press(&["ctrl+s"]);
    is_alternate(&terminal, true);
    terminal.pty.send("seq 6");
    terminal.sees(&["seq 60"]);
    terminal.pty.press(&["enter", "esc"]);
    is_alternate(&terminal, false);
    terminal.editor_is_empty();
    assert_eq!(written(&terminal.pty), before);
    leave(&terminal);
}

#[test]
fn prints_long_answer_incrementally() {
    let paragraphs: Vec<String> = (0..80).map(|number| format!("Paragraph {number:02}.\n\n")).collect();
    let terminal = inline(vec![Scenario::text(paragraphs.concat())], &["write"]);
    terminal.sees(&["Paragraph 79."]);
    terminal.editor_is_empty();
    for number in 0..80 {
        stands(&terminal.pty, &format!("Paragraph {number:02}."), 1);
    }
    leave(&terminal);
}

#[test]
fn resize_leaves_nothing_behind() {
    let terminal = inline(vec![Scenario::text("Wide and narrow."), Scenario::text("Again.")], &["hello"]);
    terminal.sees(&["Wide and narrow."]);
    terminal.editor_is_empty();
    for (columns, rows) in [(60, 24), (100, 30), (40, 10), (80, 24)] {
        terminal.pty.resize(columns, rows);
        let rule = "─".repeat(usize::from(columns));
        terminal.pty.wait_for(&format!("{rule}\n›\n{rule}\n"));
        let ruled = terminal.pty.history().iter().filter(|row| row.starts_with("──")).count();
        assert_eq!(ruled, 2, "{:?}", terminal.pty);
        stands(&terminal.pty, "Wide and narrow.", 1);
    }
    terminal.say("again");
    terminal.sees(&["Again."]);
    leave(&terminal);
}

#[test]
fn resumed_conversation_shows_its_end() {
    let calls: Vec<Scenario> =
        (0..60).map(|number| bash(&format!("t{number}"), &format!("echo n{number:02}"))).collect();
    let scene = Scene::new([calls.as_slice(), &[Scenario::text("All echoed.")]].concat());
    scene.haft(&["-p", "--max-steps", "100", "echo"]);
    let terminal = at(scene, &["-c"]);
    terminal.sees(&["All echoed."]);
    stands(&terminal.pty, "… 12 earlier entries · ctrl+o show", 1);
    stands(&terminal.pty, "bash  echo n", 49);
    stands(&terminal.pty, "bash  echo n59", 1);
    leave(&terminal);
    stands(&terminal.pty, "bash  echo n59", 1);
}

#[test]
fn separates_sessions_with_rule() {
    let terminal = inline(vec![Scenario::text("One."), Scenario::text("Two.")], &["first question"]);
    terminal.sees(&["One."]);
    terminal.say("/new");
    terminal.sees(&["── new session ─"]);
    terminal.say("second question");
    terminal.sees(&["Two."]);
    terminal.say("/resume");
    is_alternate(&terminal, true);
    terminal.pty.send("first");
    terminal.pty.wait_gone("second question");
    terminal.pty.press(&["enter"]);
    is_alternate(&terminal, false);
    terminal.sees(&["── first question ─"]);
    terminal.editor_is_empty();
    stands(&terminal.pty, "› first question", 2);
    stands(&terminal.pty, "› second question", 1);
    leave(&terminal);
}

#[test]
fn hands_terminal_to_other_program() {
    let scene = Scene::new(vec![Scenario::text("Edited.")]);
    let editor = scene.world.project().join("editor");
    fs::write(&editor, "#!/bin/sh\necho the editor is here\nprintf 'from the editor' > \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let terminal = TerminalSession::with(scene, &["--inline"], |setup| setup.env("VISUAL", &editor));
    terminal.say("!echo from the shell");
    terminal.sees(&["  from the shell"]);
    terminal.pty.press(&["ctrl+g"]);
    terminal.sees(&["› from the editor"]);
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Edited."]);
    for text in ["● shell  echo from the shell", "the editor is here", "› from the editor", "Edited."] {
        stands(&terminal.pty, text, 1);
    }
    leave(&terminal);
}
