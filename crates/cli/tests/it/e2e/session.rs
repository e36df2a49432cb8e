//! Sessions: recorded, found and continued.

use std::fs;
use std::path::PathBuf;

use haft_test_support::model_server::{AnswerFault, Scenario};
use serde_json::{Value, json};

use super::requests::said;
use super::running::eventually;
use super::scene::{Scene, bash};

fn answers(texts: &[&str]) -> Scene {
    Scene::new(texts.iter().map(|text| Scenario::text(*text)).collect())
}

/// A command without an effect.
const HELLO: &str = r#"
emit("register_command", name="hello", description="nothing")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="noop")
"#;

/// Returns the files of all sessions.
fn files(scene: &Scene) -> Vec<PathBuf> {
    let dirs = fs::read_dir(scene.world.home().join("sessions")).into_iter().flatten();
    let files = dirs.flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

/// Returns the id of the only session.
fn only(scene: &Scene) -> String {
    let files = files(scene);
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Returns the user's messages in a request.
fn prompts(scene: &Scene, request: usize) -> Vec<String> {
    said(&scene.server.requests()[request], "user")
}

#[test]
fn records_run_and_continues_it() {
    let scene = answers(&["One.", "Two.", "Three."]);
    scene.haft(&["-p", "first"]).expect(0);
    let id = only(&scene);
    scene.haft(&["-p", "-c", "second"]).expect(0);
    scene.haft(&["-p", "--session", &id[..8], "third"]).expect(0);
    assert_eq!(only(&scene), id);
    assert_eq!(prompts(&scene, 2), ["first", "second", "third"]);
    assert!(said(&scene.server.requests()[2], "assistant") == ["One.", "Two."]);
    assert_eq!(scene.server.violations(), Vec::<String>::new());
}

#[test]
fn no_session_and_empty_run_leave_no_file() {
    let scene = answers(&["One."]).python("hello", HELLO);
    let ran = scene.haft(&["--json", "--no-session", "first"]);
    ran.expect(0);
    assert_eq!(ran.events()[0]["type"], "session");
    assert_eq!(ran.events()[0]["path"], Value::Null);
    scene.haft(&["-p", "/hello"]).expect(0);
    assert_eq!(files(&scene), Vec::<PathBuf>::new());
    assert!(!scene.world.home().join("sessions").exists());
}

#[test]
fn first_event_is_session() {
    let scene = answers(&["One."]);
    let ran = scene.haft(&["--json", "first"]);
    ran.expect(0);
    let file = files(&scene).remove(0);
    assert_eq!(ran.events()[0], json!({"type": "session", "id": only(&scene), "path": file}));
}

#[test]
fn reports_missing_session() {
    let scene = answers(&[]);
    for args in [
        &["-p", "-c", "hi"][..],
        &["-p", "-r"],
        &["-p", "--session", "abc", "hi"],
        &["session", "show", "last"],
    ] {
        let ran = scene.world.haft(args);
        assert_eq!(ran.code, 11, "{ran:?}");
        assert!(ran.stderr.contains("haft session list --all"), "{ran:?}");
    }
    for args in [["-c", "--no-session"], ["-c", "-r"], ["-r", "--session=x"], ["--session=x", "--no-session"]]
    {
        assert_eq!(scene.world.haft(&args).code, 2, "{args:?}");
    }
    // Sessions of another directory do not count.
    let scene = answers(&["One."]);
    scene.haft(&["-p", "first"]).expect(0);
    fs::create_dir(scene.world.project().join("below")).unwrap();
    scene.haft(&["-p", "--cwd", "below", "-c", "more"]).expect(11);
}

#[test]
fn prints_list_without_terminal() {
    let scene = answers(&["One.", "Two."]);
    scene.haft(&["-p", "first thing\nto do"]).expect(0);
    let id = only(&scene);
    let ran = scene.haft(&["--resume"]);
    ran.expect(0);
    assert!(ran.stdout.contains(&id[..8]) && ran.stdout.contains("first thing"), "{}", ran.stdout);
    let ran = scene.haft(&["-p", "--resume", "--", "more"]);
    ran.expect(2);
    assert!(ran.stderr.contains("--resume ID"), "{}", ran.stderr);
    scene.haft(&["-p", "-r", &id[..6], "more"]).expect(0);
    assert_eq!(prompts(&scene, 1), ["first thing\nto do", "more"]);
}

#[test]
fn answers_unanswered_message_without_prompt() {
    let scene =
        Scene::new(vec![Scenario::text("never seen").fault(AnswerFault::Hang), Scenario::text("At last.")]);
    let running = scene.start(&["-p", "first"], None);
    assert!(eventually(|| scene.server.requests().len() == 1 && !files(&scene).is_empty()));
    running.kill();
    let ran = scene.haft(&["-p", "-c"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "At last.\n");
    assert_eq!(prompts(&scene, 1), ["first"]);
    let ran = scene.haft(&["-p", "-c"]);
    ran.expect(2);
    assert!(ran.stderr.contains("give a prompt"), "{}", ran.stderr);
}

#[test]
fn killed_tool_does_not_run_again() {
    let call = bash("t1", "echo ran >> \"$MARKS\"; sleep 600");
    let scene = Scene::new(vec![call, Scenario::text("I see.")]);
    let running = scene.start(&["-p", "go"], None);
    assert!(eventually(|| scene.marks() == ["ran"]));
    running.kill();
    let ran = scene.haft(&["-p", "-c", "what happened?"]);
    ran.expect(0);
    assert!(ran.stderr.contains("a tool call was interrupted; haft does not repeat it"), "{}", ran.stderr);
    assert!(said(&scene.server.requests()[1], "tool")[0].starts_with("interrupted: the tool was started"));
    assert_eq!(scene.marks(), ["ran"]);
    assert_eq!(scene.server.violations(), Vec::<String>::new());
}

#[test]
fn forks_session_open_in_other_process() {
    let scene = Scene::new(vec![
        Scenario::text("I begin").fault(AnswerFault::Hang),
        Scenario::text("From the fork."),
    ]);
    let running = scene.start(&["-p", "first"], None);
    assert!(eventually(|| scene.server.requests().len() == 1 && !files(&scene).is_empty()));
    let id = only(&scene);
    let short = &id[..8];
    let ran = scene.haft(&["-p", "-c", "second"]);
    ran.expect(10);
    let told = format!(
        "haft: session {short} is open in another process; fork it with `haft session fork {short}`, or read it with \
         `haft session show {short}`\n"
    );
    assert_eq!(ran.stderr, told);
    assert_eq!(scene.world.haft(&["session", "rm", short, "--yes"]).code, 10);
    assert_eq!(scene.world.haft(&["session", "rename", short, "x"]).code, 10);
    assert_eq!(scene.world.haft(&["session", "show", short]).code, 0);
    let forked = scene.world.haft(&["session", "fork", short]);
    assert_eq!((forked.code, forked.stdout.len()), (0, 33), "{forked:?}");
    let ran = scene.haft(&["-p", "--session", forked.stdout.trim(), "second"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "From the fork.\n");
    // The results follow each other in one message of the dialect.
    assert_eq!(prompts(&scene, 1), ["first\nsecond"]);
    running.kill();
}

/// Creates a session with one answer and an incomplete last line.
fn tear(scene: &Scene) {
    if files(scene).is_empty() {
        scene.haft(&["-p", "first"]).expect(0);
    }
    let file = files(scene).into_iter().find(|file| file.extension().unwrap() == "jsonl").unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"mess");
    fs::write(&file, bytes).unwrap();
}

/// Opening repairs the file, so the next run has nothing to report.
#[test]
fn reports_repair_if_run_cannot_start() {
    let scene = answers(&["One."]);
    for args in [&["-p", "-c", "second"][..], &["--json", "-c", "second"], &["session", "compact", "last"]] {
        tear(&scene);
        let ran = scene.world.haft(&[args, &["--provider", "anthropic"]].concat());
        assert!(ran.code == 6 && ran.stderr.contains("ANTHROPIC_API_KEY"), "{ran:?}");
        assert!(ran.stderr.contains("the last line was incomplete; its 13 bytes were moved to "), "{ran:?}");
        assert_eq!(ran.stdout.contains(r#"{"type":"session_repaired","#), args[0] == "--json", "{ran:?}");
    }
}

#[test]
fn reports_repair_before_compaction() {
    let scene = answers(&["One.", "Two."]);
    tear(&scene);
    let args = ["last", "--json"];
    let ran = super::running::Running::start(scene.command_of(&["session", "compact"], &args), None).wait();
    let kinds: Vec<String> =
        ran.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds[..2], ["session", "session_repaired"], "{ran:?}");
    assert_eq!(ran.of("session_repaired").len(), 1, "{ran:?}");
}

#[test]
fn reports_repair() {
    let scene = answers(&["One.", "Two."]);
    tear(&scene);
    let ran = scene.haft(&["-p", "-c", "second"]);
    ran.expect(0);
    assert!(
        ran.stderr.contains("the last line was incomplete; its 13 bytes were moved to "),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert_eq!(prompts(&scene, 1), ["first", "second"]);
}

#[test]
fn events_report_repair_and_new_directory() {
    let takes_away = bash("t1", "rm -r \"$HAFT_HOME/sessions\"/*");
    let scene = Scene::new(vec![takes_away, Scenario::text("Gone.")]);
    let ran = scene.haft(&["--sandbox", "full", "--json", "go"]);
    ran.expect(0);
    let (sessions, repaired) = (ran.of("session"), ran.of("session_repaired"));
    assert_eq!((sessions.len(), repaired.len()), (2, 1), "{}", ran.stdout);
    assert_eq!(repaired[0]["id"], sessions[1]["id"]);
    let path = sessions[1]["path"].as_str().unwrap();
    assert_eq!(files(&scene), [PathBuf::from(path)]);
    let short = &sessions[1]["id"].as_str().unwrap()[..8];
    let told = format!("haft: session {short}: ");
    assert!(
        ran.stderr.contains(&told) && ran.stderr.contains("the file was deleted or renamed"),
        "{}",
        ran.stderr
    );
}

#[test]
fn keeps_partial_answer_and_replaces_it() {
    let half = Scenario::text("Half an answer").fault(AnswerFault::NoFinalEvent);
    let scene = Scene::new(vec![half, Scenario::text("A whole one.")]);
    let ran = scene.haft(&["-p", "first"]);
    assert!(ran.code != 0 && ran.stdout.is_empty(), "half an answer is none: {ran:?}");
    let shown = scene.world.haft(&["session", "show", "last"]).stdout;
    assert!(shown.contains("Half an"), "{shown}");
    scene.haft(&["-p", "-c"]).expect(0);
    assert_eq!(prompts(&scene, 1), ["first"]);
    assert!(!scene.world.haft(&["session", "show", "last"]).stdout.contains("Half an"));
    assert!(fs::read_to_string(&files(&scene)[0]).unwrap().contains("Half an"));
    assert_eq!(scene.server.violations(), Vec::<String>::new());
}

#[test]
fn session_of_newer_version_is_read_only() {
    let scene = answers(&["One."]);
    scene.haft(&["-p", "first"]).expect(0);
    let file = files(&scene).remove(0);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"format_version\":1", "\"format_version\":2", 1)).unwrap();
    for args in
        [&["-p", "-c", "second"][..], &["session", "fork", "last"], &["session", "rename", "last", "x"]]
    {
        let ran = scene.world.haft(args);
        assert_eq!(ran.code, 11, "{ran:?}");
        assert!(ran.stderr.contains("written by a newer version of haft"), "{ran:?}");
    }
    assert!(scene.world.haft(&["session", "show", "last"]).stdout.contains("> first\n"));
}

#[test]
fn rejects_files_that_are_no_sessions() {
    let scene = answers(&[]);
    let notes = scene.world.project().join("notes.txt");
    fs::write(&notes, "no newline at the end").unwrap();
    for args in [&["-p", "--session", "./notes.txt", "hi"][..], &["session", "rename", "notes.txt", "x"]] {
        let ran = scene.world.haft(args);
        assert_eq!(ran.code, 11, "{ran:?}");
        assert!(ran.stderr.contains("notes.txt is not a session file"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(&notes).unwrap(), "no newline at the end");
}

#[test]
fn session_keeps_thinking_level_and_tools() {
    let scene = answers(&["One.", "Two.", "Three."]);
    scene.haft(&["-p", "--tools", "read,bash", "first"]).expect(0);
    scene.haft(&["-p", "-c", "second"]).expect(0);
    scene.haft(&["-p", "-c", "--tools", "grep", "third"]).expect(0);
    let offered = |at: usize| super::requests::offered(&scene.server.requests()[at]);
    assert_eq!(offered(0), ["read", "bash"]);
    assert_eq!(offered(1), offered(0));
    assert_eq!(offered(2), ["grep"]);
}

#[test]
fn session_keeps_model() {
    let scene = answers(&["One.", "Two."]);
    scene.haft(&["-p", "first"]).expect(0);
    let run = |model: &str| {
        let mut command =
            scene.world.command(&["-p", "-c", "--base-url", &scene.server.base_url(), "second"]);
        command.env("HAFT_PROVIDER", "openai-chat").env("HAFT_MODEL", model).env("OPENAI_API_KEY", "k");
        super::running::Running::start(command, None).wait()
    };
    run("another").expect(0);
    assert_eq!(scene.server.requests()[1].body["model"], "m", "the session's, not the environment's");
}
