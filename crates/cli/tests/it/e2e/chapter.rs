//! The minimal requirements for an extension system, with extensions in Python.

use std::path::Path;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::requests::{offered, said, system};
use super::scene::{Scene, bash};

/// The example `py-guide` of the repository.
fn with_guide(scene: Scene) -> Scene {
    scene.with(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions/py-guide"))
}

#[test]
fn extension_registers_read_only_tool() {
    let scene = with_guide(Scene::new(vec![
        Scenario::new().tool("t1", "glossary", r#"{"term":"step"}"#),
        Scenario::text("Now I know."),
    ]));
    let ran = scene.haft(&["-p", "What is a step?"]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Now I know.\n", ""));
    let requests = scene.server.requests();
    assert!(offered(&requests[0]).contains(&"glossary".to_owned()));
    assert_eq!(said(&requests[1], "tool"), ["One request to the model and the tool calls in its answer."]);
}

#[test]
fn extension_denies_bash_command_before_it_runs() {
    let scene = with_guide(Scene::new(vec![bash("t1", "rm -rf build"), Scenario::text("As you wish.")]));
    std::fs::create_dir(scene.world.project().join("build")).unwrap();
    let ran = scene.haft(&["--json", "Clean up."]);
    ran.expect(0);
    assert_eq!(ran.of("tool_blocked")[0]["by"], "py-guide");
    assert_eq!(said(&scene.server.requests()[1], "tool"), ["refused: rm -rf is not allowed here"]);
    assert!(scene.world.project().join("build").exists());
}

#[test]
fn extension_appends_tool_guide_to_system_prompt() {
    let scene = with_guide(Scene::new(vec![Scenario::text("Hi.")]));
    scene.haft(&["-p", "hi"]).expect(0);
    let system = system(&scene.server.requests()[0]);
    let guide = "<extension name=\"py-guide\">\nLook project words up with the tool `glossary` before you explain them";
    assert!(system.contains(guide), "{system}");
    assert!(system.contains("- glossary (extension py-guide): Explain a word of this project."), "{system}");
}

/// Runs an extension that fails in its tool. The model and the user are informed, and the turn continues.
#[track_caller]
fn check_failing_tool(handler: &str, code: &str, message: &str) {
    let body = format!(
        r#"
tool("fragile")
emit("ready")
for frame in frames():
    if frame["type"] == "tool_call":
        {handler}
"#
    );
    let scene =
        Scene::new(vec![Scenario::new().tool("t1", "fragile", "{}"), Scenario::text("Without it, then.")])
            .python("fragile", &body)
            .example("weather");
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert_eq!(ran.faults(), [("fragile".into(), code.into())]);
    let fault = &ran.of("extension_error")[0]["message"];
    assert!(fault.as_str().unwrap().contains(message), "{fault}");
    let results = ran.of("tool_result");
    assert_eq!((results.len(), &results[0]["is_error"]), (1, &json!(true)));
    let told = &said(&scene.server.requests()[1], "tool")[0];
    assert!(told.contains("fragile"), "{told}");
    assert_eq!(ran.of("assistant_message").last().unwrap()["content"][0]["text"], "Without it, then.");
}

#[test]
fn extension_that_dies_in_tool_is_reported() {
    check_failing_tool(
        r#"raise RuntimeError("boom in the tool")"#,
        "exited",
        "RuntimeError: boom in the tool",
    );
}

#[test]
fn extension_that_answers_nonsense_is_reported() {
    check_failing_tool(
        r#"emit("tool_result", id=frame["id"], content="a string")"#,
        "frame_invalid",
        "tool fragile",
    );
}

#[test]
fn extensions_of_untrusted_project_do_not_run() {
    let scene = Scene::new(vec![Scenario::text("Hi."), Scenario::text("Hi.")]);
    let body = r#"
mark("ran")
tool("projects_own")
emit("ready")
for frame in frames():
    pass
"#;
    scene.required_project_python(&scene.world.project(), "local", body);

    let ran = scene.haft(&["-p", "hi"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "Hi.\n");
    assert!(ran.stderr.contains("local") && ran.stderr.contains("`haft trust`"), "{}", ran.stderr);
    assert_eq!(scene.marks(), Vec::<String>::new());

    scene.haft(&["-p", "--trust-project", "hi"]).expect(0);
    assert_eq!(scene.marks(), ["ran"]);
    let offers: Vec<bool> = scene
        .server
        .requests()
        .iter()
        .map(|request| offered(request).contains(&"projects_own".to_owned()))
        .collect();
    assert_eq!(offers, [false, true]);
}
