//! A long conversation in a context window that is much too small: the whole program, one turn per run, over HTTP.
//!
//! `HAFT_COMPACT_TURNS` sets the number of turns and adds the other dialect to each test; see `docs/testing.md`.
//! `crates/core/tests/it/small_window.rs` tests without processes when a conversation is summarized.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_test_support::model_server::{ModelServer, RecordedRequest, Scenario, WireFormat};
use serde_json::{Value, json};

use super::scene::Scene;

const WINDOW: u64 = 8_192;

/// The variable that sets the number of turns of a full run.
const FULL: &str = "HAFT_COMPACT_TURNS";

/// The number of turns of an ordinary run.
const TURNS: usize = 6;

/// The number of files.
const FILES: usize = 30;

/// An extension that writes every third summary itself, in whichever process.
const THIRD: &str = r#"
emit("subscribe", intercept=["before_compact"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        mark("asked")
        with open(MARKS) as marks:
            nth = len(marks.readlines())
        answer(frame, **({"summary": f"Summary {nth} is of the extension."} if nth % 3 == 0 else {}))
"#;

/// The script of the model: it reads two files, writes one of them, reports the end, and writes summaries on request.
fn answering(server: &ModelServer) -> Arc<AtomicUsize> {
    let step = Arc::new(AtomicUsize::new(0));
    let shared = step.clone();
    let (mut calls, mut summaries) = (0, 0);
    let mut nth = 0;
    server.answer_with(move |request: &RecordedRequest| {
        let mut id = || {
            calls += 1;
            format!("call_{calls}")
        };
        let scenario = if request.body["tools"].as_array().is_none_or(Vec::is_empty) {
            summaries += 1;
            Scenario::text(format!("Summary {summaries} of the model: {}", "and more ".repeat(100)))
        } else {
            match shared.fetch_add(1, Ordering::Relaxed) {
                0 => {
                    nth += 1;
                    let notes = format!(r#"{{"path":"notes-{}.md"}}"#, nth % 7);
                    let file = json!({"path": path(nth)}).to_string();
                    Scenario::new().tool(&id(), "read", &file).tool(&id(), "read", &notes)
                }
                1 => {
                    let file = json!({"path": path(nth), "content": format!("// {nth}\n{}", text(nth))});
                    Scenario::new().tool(&id(), "write", &file.to_string())
                }
                _ => Scenario::text("That is done. ".repeat(20)),
            }
        };
        scenario.cut_every(0)
    });
    step
}

fn path(nth: usize) -> String {
    format!("src/file-{}.rs", nth % FILES)
}

/// Returns a text of up to a fifth of the window.
fn text(nth: usize) -> String {
    "let x = 1;\n".repeat(150 * (nth % 4 + 1))
}

fn world(scene: &Scene, model: &Value) {
    let (project, home) = (scene.world.project(), scene.world.home());
    fs::create_dir_all(project.join("src")).unwrap();
    (0..FILES).for_each(|nth| fs::write(project.join(path(nth)), text(nth)).unwrap());
    (0..7).for_each(|nth| fs::write(project.join(format!("notes-{nth}.md")), "Mind this.\n").unwrap());
    fs::create_dir_all(&home).unwrap();
    let models = json!({"anthropic": {"models": {"m": model}}, "openai-chat": {"models": {"m": model}}});
    fs::write(home.join("models.json"), json!({ "providers": models }).to_string()).unwrap();
}

/// The number of compactions, and the summaries of the extension.
#[derive(Default)]
struct Summed {
    times: usize,
    by_extension: Vec<String>,
}

/// Works on one prompt and checks that no overflow is visible.
fn turn(scene: &Scene, turn: usize) -> Summed {
    let prompt = format!("Turn {turn}: {}", "please mind this. ".repeat(turn % 40));
    let mut args = vec!["--json", "--tools", "read,write"];
    if turn > 0 {
        args.push("-c");
    }
    let ran = scene.haft(&[args, vec![&prompt]].concat());
    ran.expect(0);
    assert_eq!((ran.stderr.as_str(), ran.of("error")), ("", Vec::new()), "turn {turn}");
    let failed: Vec<Value> =
        ran.of("tool_result").into_iter().filter(|result| result["is_error"] == true).collect();
    assert_eq!(failed, Vec::<Value>::new(), "turn {turn}");
    let mut summed = Summed::default();
    for end in ran.of("compaction_end") {
        assert_eq!(end["error"], Value::Null, "turn {turn}: {end}");
        summed.times += 1;
        if end["by"] == "third" {
            summed.by_extension.push(end["summary"].as_str().unwrap().to_owned());
        }
    }
    summed
}

/// Returns the text of the first user message in a request.
fn first_of_user(request: &RecordedRequest) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let first = messages.iter().find(|message| message["role"] == "user").unwrap();
    let parts = first["content"].as_array().cloned().unwrap_or_default();
    let parts: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    first["content"].as_str().map_or(parts, str::to_owned)
}

/// Checks that the model knows every written file, from the list after the summary or from a call.
fn check_files(request: &RecordedRequest, turns: usize) {
    let first = first_of_user(request);
    let (_, list) = first.split_once("<files_modified>\n").unwrap();
    let (list, _) = list.split_once("\n</files_modified>").unwrap();
    let listed: BTreeSet<&str> = list.lines().collect();
    let messages = Value::to_string(&request.body["messages"].as_array().unwrap()[1..].to_vec().into());
    let unknown: Vec<String> = (1..=turns).map(path).collect();
    let unknown: BTreeSet<&String> = unknown
        .iter()
        .filter(|path| !listed.contains(path.as_str()) && !messages.contains(path.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?} are not in {listed:?}");
    assert!(first.contains("<files_read>\n"), "{first}");
}

fn check(wire: WireFormat, model: &Value) -> Scene {
    let turns = std::env::var(FULL).map_or(TURNS, |count| count.parse().unwrap());
    let scene = Scene::speaking(wire, Vec::new()).python("third", THIRD);
    world(&scene, model);
    scene.server.set_window(WINDOW);
    let step = answering(&scene.server);
    let mut summed = Summed::default();
    for nth in 0..turns {
        step.store(0, Ordering::Relaxed);
        let Summed { times, by_extension } = turn(&scene, nth);
        summed.times += times;
        summed.by_extension.extend(by_extension);
    }
    assert_eq!(scene.server.violations(), Vec::<String>::new());
    assert!(summed.times >= turns / 3, "{} times in {turns} turns", summed.times);
    assert_eq!(summed.by_extension.len(), summed.times / 3);
    let requests = scene.server.requests();
    let firsts: Vec<String> = requests.iter().map(first_of_user).collect();
    for summary in &summed.by_extension {
        assert!(firsts.iter().any(|first| first.contains(summary)), "{summary:?} was never sent");
    }
    check_files(requests.iter().rfind(|request| request.body["tools"].is_array()).unwrap(), turns);
    _ = writeln!(
        std::io::stderr(),
        "{wire:?}, {turns} turns: {} requests, {} too long, compacted {} times, {} of them by the extension",
        requests.len(),
        scene.server.overflows(),
        summed.times,
        summed.by_extension.len()
    );
    scene
}

/// Checks one dialect, in a full run both. The model is described to haft as the dialect requires.
fn check_dialects(models: [(WireFormat, Value); 2], overflows: bool) {
    let count = if std::env::var_os(FULL).is_some() { 2 } else { 1 };
    for (wire, model) in models.into_iter().take(count) {
        let scene = check(wire, &model);
        assert_eq!(scene.server.overflows() > 0, overflows, "{wire:?}");
    }
}

#[test]
fn never_overflows_known_window() {
    let openai = (WireFormat::OpenAiChat, json!({"window": WINDOW}));
    let anthropic = (WireFormat::Anthropic, json!({"window": WINDOW, "max_output": 1_024}));
    check_dialects([openai, anthropic], false);
}

#[test]
fn learns_unknown_window_from_refusals() {
    let anthropic = (WireFormat::Anthropic, json!({"max_output": 1_024}));
    let openai = (WireFormat::OpenAiChat, json!({}));
    check_dialects([anthropic, openai], true);
}
