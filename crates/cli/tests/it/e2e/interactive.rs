//! The interactive mode in a real terminal: start and end.

#![cfg(unix)]

mod approvals;
mod extensions;
mod guards;
mod inline;
mod login;
mod panel;
mod screens;
mod sessions;
pub(super) mod terminal_session;
mod typing;
mod work;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_test_support::model_server::Scenario;
use haft_test_support::pty::PtySetup;
use rustix::process::Signal;
use serde_json::json;

use super::requests::said;
use super::running::eventually;
use super::scene::Scene;
use terminal_session::{ends_with, setup, terminal};

/// A small PNG, as Base64.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAACgAAAAoCAIAAAADnC86AAAAL0lEQVR42u3NMQ0AAAgDsN3zLwpZmCDhadK/mfZFxGKxWCwWi8VisVgsFovF4jsLvGtfTGkZpRUAAAAASUVORK5CYII=";

#[test]
fn answers_prompt_and_restores_terminal() {
    let scene = Scene::new(vec![Scenario::text("Hello from the model.")]);
    let pty = terminal(&scene, &[]);
    pty.wait_for("m ");
    pty.send("say hello");
    pty.press(&["enter"]);
    pty.wait_for("Hello from the model.");
    pty.send("/quit");
    pty.press(&["enter"]);
    ends_with(&pty, 0);
    // The conversation stays on the normal screen, with the command to resume it.
    pty.wait_for("Hello from the model.");
    pty.wait_for("haft --resume ");
}

#[test]
fn sends_prompt_of_command_line() {
    let scene = Scene::new(vec![Scenario::text("Done as you said.")]);
    let pty = terminal(&scene, &["do", "this"]);
    pty.wait_for("Done as you said.");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn sigterm_restores_terminal() {
    let scene = Scene::new(vec![Scenario::text("Hello.")]);
    let pty = terminal(&scene, &["hi"]);
    pty.wait_for("Hello.");
    pty.signal(Signal::TERM);
    ends_with(&pty, 130);
    let listed = scene.world.haft(&["session", "list"]);
    assert!(listed.stdout.contains("hi"), "{listed:?}");
}

#[test]
fn quitting_stops_command_and_keeps_conversation() {
    for leaves in ["quit", "signal"] {
        let call = json!({"name": "bash", "args": {"command": "echo $$ >pid; exec sleep 600"}});
        let scene = Scene::scripted(&json!([{"say": [{"text": "I wait."}, {"call": call}]}]));
        let pty = terminal(&scene, &["wait for me"]);
        pty.wait_for("sleep 600");
        let pid = scene.world.project().join("pid");
        let started = || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'));
        assert!(eventually(started), "{}", pty.rows().join("\n"));
        match leaves {
            "quit" => pty.press(&["ctrl+c", "ctrl+c"]),
            _ => pty.signal(Signal::TERM),
        }
        ends_with(&pty, if leaves == "quit" { 0 } else { 130 });
        let process = Path::new("/proc").join(fs::read_to_string(&pid).unwrap().trim());
        assert!(
            !cfg!(target_os = "linux") || eventually(|| !process.exists()),
            "{leaves}: it is left behind"
        );
        let shown = scene.world.haft(&["session", "show", "last"]);
        assert!(shown.stdout.contains("wait for me") && shown.stdout.contains("I wait."), "{shown:?}");
    }
}

#[test]
fn resumes_session() {
    let scene = Scene::new(["One.", "Two.", "Three."].map(Scenario::text).into());
    scene.haft(&["-p", "about alpha"]).expect(0);
    scene.haft(&["-p", "about beta"]).expect(0);
    let pty = terminal(&scene, &["-c"]);
    pty.wait_for("about beta");
    pty.wait_for("Two.");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
    let pty = terminal(&scene, &["--resume"]);
    pty.wait_for("about alpha");
    pty.send("alph");
    pty.wait_gone("about beta");
    pty.press(&["enter"]);
    pty.wait_for("One.");
    pty.send("go on");
    pty.press(&["enter"]);
    pty.wait_for("Three.");
    assert_eq!(said(&scene.server.requests()[2], "user"), ["about alpha", "go on"]);
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn returns_to_previous_session() {
    let scene = Scene::new(["First answer.", "Second answer."].map(Scenario::text).into());
    let pty = terminal(&scene, &["first question"]);
    pty.wait_for("First answer.");
    pty.send("/new");
    pty.press(&["enter"]);
    pty.wait_gone("First answer.");
    pty.send("second question");
    pty.press(&["enter"]);
    pty.wait_for("Second answer.");
    pty.send("/resume");
    pty.press(&["enter"]);
    pty.wait_for("first question");
    pty.send("first");
    pty.wait_gone("second question");
    pty.press(&["enter"]);
    pty.wait_for("First answer.");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn runs_shell_command_and_informs_model() {
    let scene = Scene::new(vec![Scenario::text("I see.")]);
    let pty = terminal(&scene, &[]);
    pty.wait_for("›");
    pty.send("!echo from-the-$((40+2))");
    pty.press(&["enter"]);
    pty.wait_for("from-the-42");
    // A prompt that is sent before the command ends would not include its output.
    pty.wait_for("↳ with your next prompt: !echo");
    pty.send("what was that?");
    pty.press(&["enter"]);
    pty.wait_for("I see.");
    let told = said(&scene.server.requests()[0], "user").join("\n");
    assert!(told.contains("from-the-42") && told.contains("what was that?"), "{told}");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn keeps_history_and_settings() {
    let scene = Scene::new(vec![Scenario::text("One.")]);
    let pty = terminal(&scene, &[]);
    pty.wait_for("›");
    pty.send("/theme light");
    pty.press(&["enter"]);
    let config = scene.world.home().join("config.toml");
    assert!(eventually(|| fs::read_to_string(&config).is_ok_and(|text| text.contains("theme = \"light\""))));
    pty.send("remember this one");
    pty.press(&["enter"]);
    pty.wait_for("One.");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
    let pty = terminal(&scene, &[]);
    pty.wait_for("›");
    // The earlier prompts are read while the first frame is drawn. The mark shows that the previous key was read.
    let has_it = || {
        pty.press(&["ctrl+u", "up"]);
        pty.send("#");
        let mut has_it = false;
        pty.wait_until("the mark", |screen| {
            let shown = screen.contents();
            has_it = shown.contains("› remember this one#");
            has_it || shown.contains("› #")
        });
        pty.press(&["ctrl+u"]);
        pty.wait_gone("#");
        has_it
    };
    assert!(eventually(has_it));
    pty.press(&["ctrl+c", "ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn shows_problems_of_user_files() {
    let scene = Scene::new(vec![Scenario::text("Hello.")]);
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("keybindings.toml"), "[keys]\n\"editor.undu\" = [\"alt+u\"]\n")
        .unwrap();
    let pty = terminal(&scene, &["hi"]);
    pty.wait_for("Hello.");
    pty.wait_for("so the default keys are");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn external_editor_uses_terminal() {
    let scene = Scene::new(vec![Scenario::text("Read.")]);
    let editor = scene.world.home().join("editor.sh");
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(&editor, "#!/bin/sh\necho ready\nread line </dev/tty\nprintf 'typed: %s' \"$line\" >\"$1\"\n")
        .unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o700)).unwrap();
    let pty = setup(&scene, &[]).env("VISUAL", &editor).spawn();
    pty.wait_for("›");
    pty.press(&["ctrl+g"]);
    pty.wait_for("ready");
    pty.send("by hand\r");
    pty.wait_for("typed: by hand");
    pty.press(&["enter"]);
    pty.wait_for("Read.");
    pty.press(&["ctrl+c", "ctrl+c"]);
    ends_with(&pty, 0);
}

#[test]
fn prints_reason_without_provider() {
    let scene = Scene::new(Vec::new());
    let pty = PtySetup::new(env!("CARGO_BIN_EXE_haft"))
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
fn requires_prompt_without_terminal() {
    let scene = Scene::new(Vec::new());
    let ran = scene.haft(&[]);
    ran.expect(2);
    assert!(ran.stderr.contains("use -p PROMPT, or start haft in a terminal"), "{ran:?}");
}

#[test]
fn piped_output_is_answer_only() {
    let scene = Scene::new(vec![Scenario::text("Only this.")]);
    let ran = scene.haft(&["hi"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "Only this.\n");
}

#[test]
fn shows_image_and_hides_it_behind_page() {
    let call = json!({"name": "read", "args": {"path": "picture.png"}});
    let scene = Scene::scripted(&json!([{"say": [{"call": call}]}, {"say": [{"text": "It is red."}]}]));
    fs::write(scene.world.project().join("picture.png"), STANDARD.decode(PICTURE).unwrap()).unwrap();
    let pty = setup(&scene, &["what is on it?"]).env("TERM", "xterm-kitty").pixels(10, 20).spawn();
    pty.wait_for("It is red.");
    let placed = b"p=1,c=4,r=2,C=1,q=2\x1b\\";
    pty.wait_for_bytes(0, placed);
    let from = pty.bytes().len();
    pty.send("/help");
    pty.press(&["enter"]);
    pty.wait_for_bytes(from, b"\x1b_Ga=d,d=i,i=");
    let from = pty.bytes().len();
    pty.press(&["esc"]);
    pty.wait_for_bytes(from, placed);
    pty.press(&["ctrl+q"]);
    ends_with(&pty, 0);
}
