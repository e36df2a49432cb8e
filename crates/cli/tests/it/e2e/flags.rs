//! The flags of a run, as observed by the model and the extensions.

use haft_test_support::model_server::Scenario;
use serde_json::Value;

use super::requests::{offered, said, system};
use super::scene::{Scene, bash};

/// An extension that reports that it runs, and its initial frame.
const WITNESS: &str = r#"
tool("witness_tool", "Sees.")
emit("ready")
for frame in frames():
    if frame["type"] == "hello_ack":
        mark(f"{NAME} {frame['cwd']}")
"#;

fn says(text: &str) -> Vec<Scenario> {
    vec![Scenario::text(text)]
}

/// Returns the names of the witnesses that ran.
fn witnesses(scene: &Scene) -> Vec<String> {
    let mut names: Vec<String> =
        scene.marks().iter().map(|mark| mark.split(' ').next().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn no_ext_runs_only_named_extensions() {
    let mut scene = Scene::new(vec![Scenario::text("Hi."), Scenario::text("Hi.")]);
    scene.required_home_python("installed", WITNESS);
    scene.required_project_python(&scene.world.project(), "local", WITNESS);
    scene.haft(&["-p", "--no-ext", "--trust-project", "hi"]).expect(0);
    assert_eq!(witnesses(&scene), Vec::<String>::new());

    scene = scene.python("named", WITNESS);
    scene.haft(&["-p", "--no-ext", "--trust-project", "hi"]).expect(0);
    assert_eq!(witnesses(&scene), ["named"]);
}

#[test]
fn runs_installed_trusted_and_named_extensions() {
    let scene = Scene::new(says("Hi.")).python("named", WITNESS);
    scene.required_home_python("installed", WITNESS);
    scene.required_project_python(&scene.world.project(), "local", WITNESS);
    scene.haft(&["-p", "--trust-project", "hi"]).expect(0);
    assert_eq!(witnesses(&scene), ["installed", "local", "named"]);
}

#[test]
fn reports_named_extension_that_is_disabled() {
    let scene = Scene::new(says("Hi."));
    let dir = scene.world.extension("off", r#"{"name":"off","exec":"./gone","enabled":false}"#);
    let ran = scene.with(dir).haft(&["-p", "hi"]);
    ran.expect(0);
    assert!(ran.stderr.contains("extension off") && ran.stderr.contains("disabled"), "{}", ran.stderr);
}

#[track_caller]
fn check_offers(args: &[&str], expect: &[&str]) {
    let scene = Scene::new(says("Hi.")).python("witness", WITNESS);
    scene.haft(&[args, &["-p", "hi"]].concat()).expect(0);
    let request = &scene.server.requests()[0];
    assert_eq!(offered(request), expect);
    assert_eq!(system(request).contains("witness_tool"), expect.contains(&"witness_tool"));
}

#[test]
fn tools_flag_filters_extension_tools() {
    check_offers(&["--no-tools"], &[]);
    check_offers(&["--tools", "read,witness_tool"], &["read", "witness_tool"]);
    check_offers(&["--tools", "bash"], &["bash"]);
    check_offers(&[], &["read", "bash", "job", "edit", "write", "grep", "find", "ls", "witness_tool"]);
}

#[test]
fn rejects_unknown_tool() {
    let scene = Scene::new(says("Never.")).python("witness", WITNESS);
    let ran = scene.haft(&["-p", "--tools", "read,nope", "hi"]);
    ran.expect(2);
    let expect = "haft: --tools: unknown tool \"nope\"; available tools: read, bash, job, edit, write, grep, find, ls, \
                  witness_tool\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", expect));
    assert_eq!(scene.server.requests().len(), 0, "the model is not asked");
}

#[test]
fn system_prompt_flags_apply() {
    let scene = Scene::new(vec![Scenario::text("Hi."), Scenario::text("Hi."), Scenario::text("Hi.")]);
    let system_of = |args: &[&str]| {
        scene.haft(&[&["-p", "hi"], args].concat()).expect(0);
        system(scene.server.requests().last().unwrap())
    };
    assert!(system_of(&[]).starts_with("You are haft, a coding agent."));
    let replaced = system_of(&["--system-prompt", "You are Bob.", "--append-system-prompt", "Rhyme."]);
    assert!(replaced.starts_with("You are Bob.\n"), "{replaced}");
    assert!(replaced.contains("\nRhyme.\n") && replaced.contains("Working directory: "), "{replaced}");
    std::fs::write(scene.world.home().join("SYSTEM.md"), "You are Eve.").unwrap();
    let from_file = system_of(&[]);
    assert!(from_file.starts_with("You are Eve."), "{from_file}");
}

#[test]
fn max_steps_ends_run() {
    let scene = Scene::new(vec![bash("t1", "true"), bash("t2", "true"), bash("t3", "true")]);
    let ran = scene.haft(&["-p", "--max-steps", "2", "go"]);
    ran.expect(7);
    assert!(ran.stderr.contains("--max-steps"), "{}", ran.stderr);
    assert_eq!(scene.server.requests().len(), 2);
}

#[test]
fn cwd_flag_accepts_relative_directory() {
    let scene = Scene::new(vec![bash("t1", "pwd"), Scenario::text("There.")]);
    let inner = scene.world.project().join("inner");
    scene.project_python(&inner, "local", WITNESS);
    scene.haft(&["-p", "--cwd", "inner", "--trust-project", "where?"]).expect(0);
    let real = inner.canonicalize().unwrap();
    let told = scene.marks()[0].strip_prefix("local ").map(std::path::PathBuf::from).unwrap();
    assert!(told.is_absolute());
    assert_eq!(told.canonicalize().unwrap(), real);
    let printed = &said(&scene.server.requests()[1], "tool")[0];
    assert!(printed.contains(real.to_str().unwrap()), "{printed}");
}

#[test]
fn reads_prompt_from_standard_input() {
    let scene = Scene::new(vec![Scenario::text("Hi."), Scenario::text("Hi.")]);
    scene.start(&["-p"], Some("the whole prompt\n")).wait().expect(0);
    scene.start(&["-p", "review", "this"], Some("a diff\n")).wait().expect(0);
    let prompts: Vec<String> =
        scene.server.requests().iter().flat_map(|request| said(request, "user")).collect();
    assert_eq!(prompts, ["the whole prompt", "review this\n\na diff"]);
}

#[test]
fn sends_unknown_slash_words_to_model() {
    let scene = Scene::new(says("A path.")).python("witness", WITNESS);
    let ran = scene.haft(&["-p", "/etc/passwd is what?"]);
    ran.expect(0);
    assert_eq!(ran.stderr, "");
    assert_eq!(said(&scene.server.requests()[0], "user"), ["/etc/passwd is what?"]);
}

/// An extension with a failing command.
const GREETER: &str = r#"
emit("register_command", name="greet", description="Greets.")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="noop", error="say whom")
"#;

#[test]
fn reports_mistyped_command() {
    let scene = Scene::new(vec![Scenario::text("Hi."), Scenario::text("Hi.")]).python("greeter", GREETER);
    let told = |prompt: &str| {
        let ran = scene.haft(&["-p", prompt]);
        ran.expect(0);
        assert_eq!(ran.stdout, "Hi.\n");
        ran.stderr
    };
    let expect = "haft: unknown command /gret; the prompt was sent unchanged; did you mean /greet?\n";
    assert_eq!(told("/gret Ada"), expect);
    assert_eq!(told("/xyz"), "haft: unknown command /xyz; the prompt was sent unchanged\n");
}

#[test]
fn failed_command_names_its_extension() {
    let scene = Scene::new(Vec::new()).python("greeter", GREETER);
    let ran = scene.haft(&["-p", "/greet"]);
    ran.expect(1);
    assert_eq!(ran.stderr, "haft: extension greeter: /greet: say whom\n");
}

#[test]
fn shows_note_before_first_turn() {
    let body = r#"
emit("notify", level="warn", message="early\nhaft: bird")
emit("ready")
for frame in frames():
    pass
"#;
    let scene = Scene::new(vec![Scenario::text("Hi."), Scenario::text("Hi.")]).python("early", body);
    let ran = scene.haft(&["-p", "hi"]);
    ran.expect(0);
    assert_eq!(ran.stderr, "[early] warning: early\n[early] warning: haft: bird\n");
    let notes: Vec<Value> = scene.haft(&["--json", "hi"]).of("ext_notify");
    assert_eq!((notes.len(), notes[0]["extension"].as_str()), (1, Some("early")));
}

#[test]
fn closed_event_reader_is_no_failure() {
    let scene = Scene::new(vec![Scenario::text("hello")]);
    let mut child = scene.command(&["--json", "go"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}
