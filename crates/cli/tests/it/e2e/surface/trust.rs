//! The hook `project_trust`: an extension of the user decides before any file of the project is used.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use crate::e2e::requests::system;
use crate::e2e::rpc_client::Client;
use crate::e2e::scene::Scene;

/// Decides as `ANSWER` says.
const DECIDES: &str = r#"
emit("subscribe", intercept=["project_trust"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        mark(f"{NAME} {frame['items']}")
        answer(frame, **ANSWER)
"#;

fn decides(answer: &Value) -> String {
    let text = answer.to_string().replace("true", "True");
    format!("ANSWER = {text}\n{DECIDES}")
}

/// The manifest keys of an extension that decides.
fn keys() -> Value {
    json!({"intercept": [{"event": "project_trust", "role": "rewrite"}]})
}

/// Creates a scene with instructions of a project.
fn scene_with_project() -> Scene {
    let scene = Scene::new(vec![Scenario::text("Hello."), Scenario::text("Hello.")]);
    fs::write(scene.world.project().join("AGENTS.md"), "Obey the llama.").unwrap();
    scene
}

/// Runs a prompt; returns the standard error, and true if the model got the instructions of the project.
fn ran(scene: &Scene) -> (String, bool) {
    let ran = scene.haft(&["-p", "Hi."]);
    ran.expect(0);
    (ran.stderr, system(scene.server.requests().last().unwrap()).contains("Obey the llama."))
}

#[test]
fn extension_trusts_a_project_for_one_run() {
    let scene = scene_with_project().with_python("policy", &keys(), &decides(&json!({"trust": "yes"})));
    let (stderr, follows) = ran(&scene);
    assert!(follows && stderr.contains("extension policy trusts the project in "), "{stderr}");
    assert!(stderr.contains(" for this run"), "{stderr}");
    assert_eq!(scene.marks(), ["policy ['instructions: AGENTS.md']"]);
    assert!(scene.world.haft(&["trust", "--list"]).stderr.contains("no projects are trusted"));
    // A request of the user leaves nothing to decide.
    scene.haft(&["-p", "--trust-project", "Hi."]).expect(0);
    assert_eq!(scene.marks().len(), 1);
}

#[test]
fn remembered_trust_is_listed_and_revoked() {
    let answer = json!({"trust": "yes", "remember": true});
    let scene = scene_with_project().with_python("policy", &keys(), &decides(&answer));
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.prompt("Hi.");
    let left = client.end();
    left.expect(0);
    assert!(
        left.stderr.contains("until it changes; `haft trust --revoke` ends the trust"),
        "{}",
        left.stderr
    );
    assert!(system(&scene.server.requests()[0]).contains("Obey the llama."));
    let listed = scene.world.haft(&["trust", "--list"]);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    let (stderr, follows) = ran(&scene);
    assert!(follows && !stderr.contains("policy trusts"), "{stderr}");
    assert_eq!(scene.marks().len(), 1);
    assert!(scene.world.haft(&["trust", "--revoke"]).stderr.contains("is no longer trusted"));
}

#[test]
fn only_extensions_of_the_user_that_name_the_hook_decide_and_failures_do_not() {
    let yes = decides(&json!({"trust": "yes"}));
    let scene = scene_with_project()
        .with_python("silent", &json!({}), &yes)
        .with_python("broken", &keys(), &decides(&json!({"trust": "perhaps"})))
        .with_python("second", &keys(), &decides(&json!({"trust": "no"})))
        .with_python("third", &keys(), &yes);
    scene.project_python(&scene.world.project(), "theirs", &yes);
    let (stderr, follows) = ran(&scene);
    assert!(!follows, "{stderr}");
    assert!(stderr.contains("extension broken: project_trust intercept: trust: "), "{stderr}");
    assert!(stderr.contains("extension second does not trust the project in "), "{stderr}");
    let marks = scene.marks();
    let asked: Vec<_> = marks.iter().map(|mark| mark.split(' ').next().unwrap()).collect();
    assert_eq!(asked, ["broken", "second"]);
}
