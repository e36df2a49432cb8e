//! `haft session …`: the output for people and programs, and commands that change sessions.

use std::fs;
use std::path::PathBuf;

use haft_test_support::model_server::{Scenario, TokenCounts};
use haft_test_support::terminal::terminal_actions;
use serde_json::{Value, json};

use super::scene::{Scene, bash, bash_args};
use crate::world::Ended;

/// Creates a session with a tool call, and returns its id.
fn recorded(scenarios: Vec<Scenario>) -> (Scene, String) {
    let scene = Scene::new(scenarios);
    scene.haft(&["-p", "Say\nit twice."]).expect(0);
    let id = file(&scene).file_stem().unwrap().to_str().unwrap().to_owned();
    (scene, id)
}

fn twice() -> Vec<Scenario> {
    let tokens = TokenCounts { input: 20, output: 5, cache_read: 100, cache_write: 3 };
    vec![
        Scenario::text("Let me see.").tool("t1", "bash", &bash_args("echo once")),
        Scenario::text("Twice.").usage(tokens),
        Scenario::text("More."),
    ]
}

fn file(scene: &Scene) -> PathBuf {
    let mut dirs = fs::read_dir(scene.world.home().join("sessions")).unwrap();
    let mut files = fs::read_dir(dirs.next().unwrap().unwrap().path()).unwrap();
    files.next().unwrap().unwrap().path()
}

fn session(scene: &Scene, args: &[&str]) -> Ended {
    let ended = scene.world.haft(&[&["session"], args].concat());
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

/// Returns the ids of a tree's entries, in the order of the drawing.
fn entries(scene: &Scene, id: &str) -> Vec<String> {
    let tree = session(scene, &["tree", id]).stdout;
    let word =
        |line: &str| line.trim_start_matches(['|', '`', '-', ' ']).split(' ').next().unwrap().to_owned();
    tree.lines().map(word).collect()
}

#[test]
fn lists_and_shows_session() {
    let (scene, id) = recorded(twice());
    let list = session(&scene, &["list"]).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[0], "ID        WHEN         MESSAGES     COST  SESSION");
    assert_eq!(lines[1], format!("{}  just now            4        -  Say", &id[..8]));
    assert!(
        lines[1..].iter().all(|line| line.chars().count() <= 80)
            && terminal_actions(list.as_bytes()).is_empty()
    );
    let shown = session(&scene, &["show", &id[..4]]).stdout.replace(&id, "ID");
    let (head, rest) = shown.split_once("\n\n").unwrap();
    assert!(head.starts_with("session   ID\n") && head.contains("\nmodel     openai-chat/m\n"), "{head}");
    insta::assert_snapshot!(rest, @r#"
    > Say
    > it twice.

    Let me see.

    → bash {"command":"echo once"}
    ← bash once

    Twice.

    -- 4 messages, 1 tool call; tokens: 31 in, 100 read from the cache, 12 out
    "#);
}

#[test]
fn shows_interventions() {
    let (scene, id) = recorded(twice());
    let file = file(&scene);
    let mut text = fs::read_to_string(&file).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let mut parent = last["id"].as_str().unwrap().to_owned();
    let done = [
        json!({"call_id": "t1", "action": "edited", "by": ["vault", "\u{1b}[2Jother"]}),
        json!({"action": "suppressed", "by": ["censor"]}),
    ];
    for (at, data) in done.iter().enumerate() {
        let id = format!("{at:032x}");
        let head =
            format!(r#"{{"type":"custom","id":"{id}","parent":"{parent}","time":"2026-01-02T03:04:05Z","#);
        text.push_str(&format!("{head}\"owner\":\"haft\",\"kind\":\"intervention\",\"data\":{data}}}\n"));
        parent = id;
    }
    fs::write(&file, text).unwrap();
    let shown = session(&scene, &["show", &id]).stdout;
    assert!(shown.contains("\n! bash: result changed by vault, other\n"), "{shown}");
    assert!(
        shown.contains("\n! message hidden by censor\n") && terminal_actions(shown.as_bytes()).is_empty(),
        "{shown}"
    );
    let json: Value = serde_json::from_str(&session(&scene, &["show", &id, "--json"]).stdout).unwrap();
    assert_eq!(json["interventions"], json!(done));
}

#[test]
fn shows_usage_of_each_prompt() {
    let (scene, _) = recorded(twice());
    scene.haft(&["-p", "-c", "More?"]).expect(0);
    let shown = session(&scene, &["show", "last"]).stdout;
    let (_, rest) = shown.split_once("Twice.\n\n").unwrap();
    insta::assert_snapshot!(rest, @r#"
    -- tokens: 31 in, 100 read from the cache, 12 out

    > More?

    More.

    -- tokens: 11 in, 7 out

    -- 6 messages, 1 tool call; tokens: 42 in, 100 read from the cache, 19 out
    "#);
}

#[test]
fn shows_session_as_json() {
    let (scene, id) = recorded(twice());
    let list: Value = serde_json::from_str(&session(&scene, &["list", "--json"]).stdout).unwrap();
    assert_eq!((&list["id"], &list["messages"]), (&json!(id), &json!(4)));
    assert_eq!((&list["first_text"], &list["usage"]["cache_read"]), (&json!("Say\nit twice."), &json!(100)));
    let shown: Value = serde_json::from_str(&session(&scene, &["show", "last", "--json"]).stdout).unwrap();
    assert_eq!(shown["id"], list["id"]);
    assert_eq!(shown["settings"]["model"], json!({"provider": "openai-chat", "model": "m"}));
    let roles: Vec<&Value> =
        shown["transcript"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(shown["answers"].as_array().unwrap().len(), 2);
}

#[test]
fn renames_tags_labels_and_forks_session() {
    let (scene, id) = recorded(twice());
    let ids = entries(&scene, &id);
    session(&scene, &["rename", &id, "a name"]);
    session(&scene, &["tag", &id, "one", "two=2"]);
    session(&scene, &["tag", &id, "three=a=b", "four=4", "two=II"]);
    session(&scene, &["tag", &id, "--remove", "one", "four=4"]);
    assert_eq!(
        session(&scene, &["tag", &id, "--remove", "two=2"]).stderr,
        "the session has none of these tags\n"
    );
    let ended = scene.world.haft(&["session", "tag", &id, "=x"]);
    assert!(ended.code == 2 && ended.stderr.contains("write KEY or KEY=VALUE"), "{ended:?}");
    session(&scene, &["label", &id, &ids[1], "here it went wrong"]);
    assert!(session(&scene, &["list", "--all"]).stdout.contains("a name #three=a=b #two=II\n"));
    assert!(session(&scene, &["show", &id]).stdout.contains("\ntags      three=a=b, two=II\n"));
    let list: Value = serde_json::from_str(&session(&scene, &["list", "--json"]).stdout).unwrap();
    assert_eq!(list["tags"], json!({"three": "a=b", "two": "II"}));
    let fork = session(&scene, &["fork", &id, "--at", &ids[0]]).stdout;
    assert_eq!(entries(&scene, fork.trim()), &ids[..1], "the fork has the first entry alone");
    // Continuing the copy does not change the original.
    let before = fs::read(file_of(&scene, &id)).unwrap();
    scene.haft(&["-p", "--session", fork.trim(), "other"]).expect(0);
    assert_eq!(fs::read(file_of(&scene, &id)).unwrap(), before);
    let tree = session(&scene, &["tree", &id]).stdout;
    assert!(tree.contains("[here it went wrong]") && tree.ends_with("Twice.  <- here\n"), "{tree}");
    session(&scene, &["label", &id, &ids[1]]);
    assert!(!session(&scene, &["tree", &id]).stdout.contains("wrong"));
    let ended = scene.world.haft(&["session", "label", &id, "zzz", "x"]);
    assert!(ended.code == 11 && ended.stderr.contains("`haft session tree` lists the entries"), "{ended:?}");
    // All ids begin with the empty text, which is not a valid name.
    assert_eq!(scene.world.haft(&["session", "show", ""]).code, 11);
}

fn file_of(scene: &Scene, id: &str) -> PathBuf {
    file(scene).with_file_name(format!("{id}.jsonl"))
}

#[test]
fn lists_sessions_with_ambiguous_id() {
    let (scene, id) = recorded(twice());
    let other = format!("{}{}", &id[..31], if id.ends_with('0') { "1" } else { "0" });
    let text = fs::read_to_string(file(&scene)).unwrap();
    fs::write(file_of(&scene, &other), text.replacen(&id, &other, 1)).unwrap();
    let ended = scene.world.haft(&["session", "show", &id[..8]]);
    assert_eq!(ended.code, 11);
    for id in [&id, &other] {
        assert!(ended.stderr.contains(&format!("{id}  Say")), "{ended:?}");
        session(&scene, &["show", id]);
    }
    // The list shows enough digits to distinguish the ids.
    assert!(session(&scene, &["list"]).stdout.contains(&id));
}

#[test]
fn deletes_session_only_with_consent() {
    let (scene, id) = recorded(twice());
    let ended = scene.world.haft(&["session", "rm", &id]);
    assert!(ended.code == 2 && ended.stderr.contains("use --yes"), "{ended:?}");
    assert!(file(&scene).exists());
    let path = file(&scene);
    session(&scene, &["rm", &id[..8], "--yes"]);
    assert!(!path.exists());
    assert_eq!(session(&scene, &["list", "--all"]).stderr, "no sessions yet\n");
}

#[test]
fn shows_no_control_sequences() {
    let evil = "done\x1b]0;evil\x07\x1b[2J";
    let scene = Scene::new(vec![bash("t1", &format!("printf '{evil}'")), Scenario::text(evil)]);
    scene.haft(&["-p", evil]).expect(0);
    session(&scene, &["rename", "last", evil]);
    session(&scene, &["tag", "last", evil, &format!("{evil}={evil}")]);
    let first = entries(&scene, "last").remove(0);
    session(&scene, &["label", "last", &first, evil]);
    for args in [&["list"][..], &["list", "--all"], &["show", "last"], &["tree", "last"]] {
        let shown = session(&scene, args);
        assert!(shown.stdout.contains("done"), "{shown:?}");
        assert_eq!(terminal_actions(shown.stdout.as_bytes()), Vec::<String>::new(), "{shown:?}");
    }
}

#[test]
fn usage_counts_each_answer_once() {
    let tokens = TokenCounts { input: 1_000, output: 500, cache_read: 0, cache_write: 0 };
    let scene = Scene::new(vec![Scenario::text("One.").usage(tokens), Scenario::text("Two.").usage(tokens)]);
    let none = scene.world.haft(&["usage"]);
    assert_eq!(none.stdout, "no usage is recorded yet\n");
    scene.haft(&["-p", "first"]).expect(0);
    assert_eq!(scene.world.haft(&["session", "fork", "last"]).code, 0);
    scene.haft(&["-p", "second"]).expect(0);
    let all: Value = serde_json::from_str(&scene.world.haft(&["usage", "--json"]).stdout).unwrap();
    assert_eq!((&all["total"]["input"], &all["total"]["output"]), (&json!(2_000), &json!(1_000)), "{all}");
    assert_eq!(all["models"].as_array().unwrap().len(), 1, "{all}");
    assert_eq!(all["projects"][0]["usage"]["input"], 2_000);
    let table = scene.world.haft(&["usage"]).stdout;
    assert!(table.lines().all(|line| line.is_ascii()), "{table}");
    assert!(table.contains("| all sessions |         2000 |"), "{table}");
}
