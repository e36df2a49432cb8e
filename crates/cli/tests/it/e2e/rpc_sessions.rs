//! The sessions of `haft rpc`, and which of them are recorded.

use std::path::Path;

use haft_test_support::model_server::{AnswerFault, Scenario};
use serde_json::{Value, json};

use super::rpc_client::{Client, text_of};
use super::scene::Scene;

/// Creates a model that answers `answer` to every prompt, in each session from the beginning.
fn parrot(answer: &str) -> Scene {
    let server = Scene::new(Vec::new());
    let answer = answer.to_owned();
    server.server.answer_with(move |_| Scenario::text(&answer));
    server
}

/// True if any session was recorded.
fn is_recorded(scene: &Scene) -> bool {
    scene.world.home().join("sessions").exists()
}

/// Returns the messages of a session.
fn said(messages: &Value) -> Vec<String> {
    messages["messages"].as_array().unwrap().iter().map(text_of).collect()
}

#[test]
fn records_only_on_request() {
    let scene = parrot("Hi.");
    let mut client = Client::of(&scene, &[]);
    client.prompt("first");
    assert_eq!(client.done("get_state", &json!({}))["path"], Value::Null);
    assert_eq!(client.done("new_session", &json!({}))["ephemeral"], true);
    client.end().expect(0);
    assert!(!is_recorded(&scene));

    let mut client = Client::of(&scene, &["--record"]);
    client.prompt("remember");
    let state = client.done("get_state", &json!({}));
    let opened = client.done("new_session", &json!({"ephemeral": true}));
    assert_eq!((&opened["ephemeral"], &opened["path"]), (&json!(true), &Value::Null));
    assert_eq!(client.done("new_session", &json!({}))["ephemeral"], false);
    client.end().expect(0);
    assert!(Path::new(state["path"].as_str().unwrap()).is_file(), "{state}");

    let mut client = Client::of(&scene, &["-c"]);
    assert_eq!(client.done("get_state", &json!({}))["session"], state["session"]);
    assert_eq!(said(&client.done("get_messages", &json!({}))), ["remember", "Hi."]);
    client.prompt("more");
    assert_eq!(client.done("new_session", &json!({}))["ephemeral"], true);
    client.end().expect(0);
    let session = state["session"].as_str().unwrap();
    for flags in [["--session", session], ["-r", &session[..9]]] {
        let mut client = Client::of(&scene, &flags);
        assert_eq!(said(&client.done("get_messages", &json!({}))).len(), 4);
        client.end().expect(0);
    }
}

#[test]
fn records_single_session_on_request() {
    let scene = parrot("Hi.");
    let mut client = Client::of(&scene, &[]);
    let opened = client.done("new_session", &json!({"ephemeral": false}));
    assert_eq!(opened["ephemeral"], false);
    let session = opened["session"].as_str().unwrap();
    client.done("prompt", &json!({"message": "kept", "session": session}));
    client.event_of(session, "done");
    client.prompt("not kept");
    client.end().expect(0);
    let listed = scene.world.haft(&["session", "list", "--json"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(listed.contains(session) && listed.contains("kept") && !listed.contains("not kept"), "{listed}");
}

#[test]
fn lists_and_opens_stored_sessions() {
    let scene = parrot("Hi.");
    scene.haft(&["-p", "from before"]).expect(0);
    let mut client = Client::of(&scene, &[]);
    let own = client.done("hello", &json!({}))["session"].clone();
    let listed = client.done("list_sessions", &json!({}));
    let stored =
        listed["sessions"].as_array().unwrap().iter().find(|session| session["open"] == false).unwrap();
    assert_eq!((&stored["first_text"], &stored["messages"]), (&json!("from before"), &json!(2)));
    assert_eq!(client.refused("switch_session", &json!({"session": "ffff"})).0, "session_not_found");
    assert_eq!(client.refused("switch_session", &json!({"session": "last"})).0, "session_not_found");
    let id = stored["session"].as_str().unwrap();
    let switched = client.done("switch_session", &json!({"session": &id[..10]}));
    assert_eq!(switched["session"], id);
    assert_eq!(said(&client.done("get_messages", &json!({}))), ["from before", "Hi."]);
    assert_ne!(own, id);
    // From now on, this process holds the session.
    let other = scene.haft(&["-p", "--session", id, "me too"]);
    other.expect(10);
    let mut second = Client::of(&scene, &[]);
    assert_eq!(second.refused("switch_session", &json!({"session": id})).0, "session_locked");
    second.end().expect(0);
    client.end().expect(0);
}

#[test]
fn runs_two_sessions_concurrently() {
    let scene = Scene::new(Vec::new());
    scene.server.answer_with(|request| {
        let hangs = request.body.to_string().contains("take your time");
        if hangs { Scenario::text("I begin").fault(AnswerFault::Hang) } else { Scenario::text("At once.") }
    });
    let mut client = Client::of(&scene, &[]);
    let first = client.done("hello", &json!({}))["session"].as_str().unwrap().to_owned();
    client.done("prompt", &json!({"message": "take your time"}));
    let second = client.done("new_session", &json!({}))["session"].as_str().unwrap().to_owned();
    client.done("prompt", &json!({"message": "hi", "session": second}));
    client.event_of(&second, "done");
    let busy = |client: &mut Client, session: &str| {
        client.done("get_state", &json!({"session": session}))["busy"].clone()
    };
    assert_eq!((busy(&mut client, &first), busy(&mut client, &second)), (json!(true), json!(false)));
    client.done("abort", &json!({}));
    client.event_of(&first, "done");
    client.done("close_session", &json!({"session": second}));
    let left = client.end();
    left.expect(0);
    let answers = left.of("assistant_message").into_iter().filter(|said| said["session"] == second.as_str());
    assert_eq!(answers.map(text_of).collect::<Vec<_>>(), ["At once."]);
}

/// A copy continues with the model that answered last, whatever the command line says.
#[test]
fn fork_keeps_conversation_and_model() {
    let scene = parrot("Hi.");
    let mut client = Client::of(&scene, &[]);
    client.prompt("one");
    client.done("set_model", &json!({"model": "n"}));
    client.prompt("two");
    let fork = client.done("fork", &json!({}))["session"].as_str().unwrap().to_owned();
    let messages = client.done("get_messages", &json!({"session": fork}));
    assert_eq!(said(&messages), ["one", "Hi.", "two", "Hi."]);
    client.done("prompt", &json!({"message": "three", "session": fork}));
    client.event_of(&fork, "done");
    client.end().expect(0);
    let models: Vec<_> =
        scene.server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, ["m", "n", "n"]);
}

/// Settings that changed since the start of the process apply to the next session.
#[test]
fn new_session_reads_current_settings() {
    let scene = parrot("Hi.");
    let mut client = Client::of(&scene, &[]);
    client.prompt("one");
    std::fs::create_dir_all(scene.world.home()).unwrap();
    std::fs::write(scene.world.home().join("config.toml"), "modle = 'x'\n").unwrap();
    let (code, error) = client.refused("new_session", &json!({}));
    assert!(code == "failed" && error.contains("config.toml:1: unknown key `modle`"), "{code}: {error}");
    std::fs::write(scene.world.home().join("SYSTEM.md"), "You are terse.").unwrap();
    std::fs::write(scene.world.home().join("config.toml"), "").unwrap();
    let session = client.done("new_session", &json!({}))["session"].clone();
    client.done("prompt", &json!({"message": "two", "session": session}));
    client.event_of(session.as_str().unwrap(), "done");
    client.end().expect(0);
    let requests = scene.server.requests();
    let terse = |at: usize| requests[at].body.to_string().contains("You are terse.");
    assert_eq!((terse(0), terse(1)), (false, true));
}
