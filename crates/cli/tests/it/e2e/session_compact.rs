//! `haft session compact`: compacts a session with a model or an extension.

use std::path::Path;

use haft_test_support::model_server::{AnswerFault, Scenario, TokenCounts, WireFormat};
use serde_json::{Value, json};

use super::requests::said;
use super::running::{Ran, Running};
use super::scene::Scene;

const SUMMARY: &str = "The user counts. Two numbers were said.";

/// An extension that refuses compactions with this text.
const REFUSES: &str = r#"
emit("subscribe", intercept=["before_compact"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        mark(json.dumps([frame["reason"], frame.get("instructions")]))
        answer(frame, block=True, reason="not before the tests ran")
"#;

/// Creates a session in which the user gave three numbers, and then a model with these answers.
fn counted(wire: WireFormat, more: Vec<Scenario>) -> Scene {
    let used = TokenCounts { input: 3_000, output: 7, cache_read: 0, cache_write: 0 };
    let number = |number: &str| Scenario::text(format!("{number}. {}", "And so on. ".repeat(50))).usage(used);
    let scenarios = ["One", "Two", "Three"].map(number).into_iter().chain(more);
    let scene = Scene::speaking(wire, scenarios.collect());
    for prompt in ["Count.", "Go on.", "Further."] {
        scene.haft(&["-p", "-c", prompt][if prompt == "Count." { 2 } else { 0 }..]).expect(0);
    }
    scene
}

fn compact(scene: &Scene, args: &[&str]) -> Ran {
    Running::start(scene.command_of(&["session", "compact"], args), None).wait()
}

fn shown(scene: &Scene) -> Value {
    serde_json::from_str(&scene.world.haft(&["session", "show", "last", "--json"]).stdout).unwrap()
}

#[test]
fn model_writes_summary_with_user_instructions() {
    let used = TokenCounts { input: 400, output: 20, cache_read: 0, cache_write: 0 };
    let answers = vec![Scenario::text(SUMMARY).usage(used), Scenario::text("Four.")];
    let scene = counted(WireFormat::OpenAiChat, answers);
    let ran = compact(&scene, &["last", "mind", "the even ones"]);
    ran.expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("compacted session "), "{ran:?}");
    let tokens =
        |before: &str| lines[0].split_once(before).unwrap().0.rsplit(' ').next().unwrap().parse::<u64>();
    assert!(tokens(" tokens before").unwrap() > tokens(" now").unwrap(), "{ran:?}");
    assert_eq!(lines[1], "-- written by openai-chat/m; tokens: 400 in, 20 out");
    let asked = &said(&scene.server.requests()[3], "user")[0];
    assert!(asked.contains("mind the even ones") && asked.contains("One. And so on."), "{asked}");
    scene.haft(&["-p", "-c", "Further."]).expect(0);
    let users = said(&scene.server.requests()[4], "user");
    assert!(users[0].contains(SUMMARY) && users.last().unwrap() == "Further.", "{users:?}");
    assert!(!users.contains(&"Count.".to_owned()), "{users:?}");
    assert_eq!(shown(&scene)["usage"]["output"], json!(4 * 7 + 20));
}

#[test]
fn events_report_usage_of_compaction() {
    let scene = counted(WireFormat::Anthropic, vec![Scenario::text(SUMMARY)]);
    let models =
        json!({"providers": {"anthropic": {"models": {"m": {"prices": {"input": 1e5, "output": 0}}}}}});
    std::fs::write(scene.world.home().join("models.json"), models.to_string()).unwrap();
    let ran = compact(&scene, &["last", "--json"]);
    ran.expect(0);
    assert_eq!(ran.of("compaction_start")[0]["reason"], "manual");
    let end = &ran.of("compaction_end")[0];
    assert_eq!(end["summary"], SUMMARY);
    assert!(end["tokens_after"].as_u64().unwrap() < end["tokens_before"].as_u64().unwrap(), "{end}");
    let usage = &ran.of("usage")[0];
    assert_eq!((&usage["cost_usd"], &usage["cumulative"]["input"]), (&json!(1.1), &json!(9_011)));
    assert_eq!(ran.events()[0]["type"], "session");
}

#[test]
fn other_model_writes_summary_and_session_keeps_its_model() {
    let scene = counted(WireFormat::OpenAiChat, vec![Scenario::text(SUMMARY), Scenario::text("Four.")]);
    let url = scene.server.base_url();
    let other =
        ["session", "compact", "last", "--provider", "openai-chat", "--model", "cheap", "--base-url", &url];
    let ended = scene.world.haft(&other);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("-- written by openai-chat/cheap; "), "{ended:?}");
    assert_eq!(scene.server.requests()[3].body["model"], "cheap");
    let ended = scene.world.haft(&["-p", "-c", "--base-url", &url, "Further."]);
    assert_eq!(ended.stdout, "Four.\n", "{ended:?}");
    assert_eq!(scene.server.requests()[4].body["model"], "m");
}

#[test]
fn extension_writes_summary() {
    let scene = counted(WireFormat::OpenAiChat, vec![Scenario::text("Four."), Scenario::text(SUMMARY)]);
    let recap = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions/recap");
    let scene = scene.with(recap);
    let ran = compact(&scene, &["last"]);
    ran.expect(0);
    assert!(ran.stdout.ends_with("-- written by extension recap\n"), "{ran:?}");
    assert_eq!(scene.server.requests().len(), 3, "no model was asked");
    scene.haft(&["-p", "-c", "Last."]).expect(0);
    let users = said(&scene.server.requests()[3], "user");
    assert!(users[0].contains("The user said:\n- Count.\n"), "{users:?}");
    // The extension leaves unknown requests to the model.
    compact(&scene, &["last", "mind the odd ones"]).expect(0);
    assert!(said(&scene.server.requests()[4], "user")[0].contains("mind the odd ones"));
}

#[test]
fn extension_refuses_compaction() {
    let scene = counted(WireFormat::OpenAiChat, Vec::new()).python("tests-first", REFUSES);
    let before = shown(&scene);
    let ran = compact(&scene, &["last", "briefly"]);
    ran.expect(4);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.ends_with("haft: compaction refused by tests-first: not before the tests ran\n"),
        "{ran:?}"
    );
    assert_eq!(scene.marks(), [r#"["manual", "briefly"]"#]);
    assert_eq!((scene.server.requests().len(), shown(&scene)["leaf"].clone()), (3, before["leaf"].clone()));
    let ran = compact(&scene, &["last", "--json"]);
    ran.expect(4);
    assert!(ran.of("compaction_end")[0]["error"].as_str().unwrap().contains("refused by tests-first"));
    assert!(ran.of("error")[0]["message"].as_str().unwrap().contains("not before the tests ran"), "{ran:?}");
}

#[test]
fn reports_session_without_content() {
    let scene = Scene::new(vec![Scenario::status(400, "bad", "no"); 2]);
    scene.haft(&["-p", "One word."]).expect(5);
    let failed = |args: &[&str], code: i32, why: &str| {
        let ran = compact(&scene, args);
        ran.expect(code);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(why), "{ran:?}");
    };
    failed(&["last"], 2, "haft: nothing to compact: the conversation is too short; try again later\n");
    failed(&["zzz"], 11, "no session has an id that begins with");
    let ended = scene.world.haft(&["session", "compact", "last", "--provider", "anthropic"]);
    assert!(ended.code == 6 && ended.stderr.contains("ANTHROPIC_API_KEY"), "{ended:?}");
    assert_eq!(scene.world.haft(&["session", "compact"]).code, 2);
}

#[test]
fn failing_provider_changes_nothing() {
    let scene =
        counted(WireFormat::OpenAiChat, vec![Scenario::status(400, "bad", "no"), Scenario::text(" ")]);
    let before = shown(&scene)["leaf"].clone();
    let ran = compact(&scene, &["last"]);
    ran.expect(5);
    assert!(ran.stderr.contains("haft: the model could not summarize the conversation: "), "{ran:?}");
    let ran = compact(&scene, &["last"]);
    ran.expect(5);
    assert!(ran.stderr.contains("the summary is empty"), "{ran:?}");
    assert_eq!(shown(&scene)["leaf"], before);
}

#[test]
fn refuses_summary_that_was_cut_off_or_is_longer() {
    let cut = Scenario::text("The user").out_of_tokens();
    let scene = counted(WireFormat::OpenAiChat, vec![cut, Scenario::text("and so on ".repeat(500))]);
    let before = shown(&scene);
    for reason in ["the summary was cut off at the model's output limit; try again", "and would replace "] {
        let ran = compact(&scene, &["last"]);
        ran.expect(5);
        assert!(ran.stderr.contains(reason), "{ran:?}");
    }
    assert_eq!(shown(&scene), before);
}

#[test]
fn rejects_session_open_in_other_process() {
    let scene = counted(WireFormat::OpenAiChat, vec![Scenario::text("I begin").fault(AnswerFault::Hang)]);
    let running = scene.start(&["-p", "-c", "Wait."], None);
    assert!(scene.server.wait_for_requests(4, haft_test_support::PATIENCE));
    let ran = compact(&scene, &["last"]);
    ran.expect(10);
    assert!(ran.stderr.contains("is open in another process; fork it with `haft session fork"), "{ran:?}");
    #[cfg(unix)]
    running.kill();
    #[cfg(not(unix))]
    drop(running);
}

#[cfg(unix)]
#[test]
fn interrupt_changes_nothing() {
    let scene = counted(WireFormat::OpenAiChat, vec![Scenario::text("The us").fault(AnswerFault::Hang)]);
    let before = shown(&scene)["leaf"].clone();
    let running = Running::start(scene.command_of(&["session", "compact"], &["last"]), None);
    assert!(scene.server.wait_for_requests(4, haft_test_support::PATIENCE));
    running.interrupt();
    let ran = running.wait();
    ran.expect(130);
    assert_eq!(shown(&scene)["leaf"], before);
}

#[test]
fn verbose_run_ends_with_usage() {
    let scene = counted(WireFormat::OpenAiChat, vec![Scenario::text("Four."); 2]);
    let models =
        json!({"providers": {"openai-chat": {"models": {"m": {"prices": {"input": 1e5, "output": 0}}}}}});
    std::fs::write(scene.world.home().join("models.json"), models.to_string()).unwrap();
    let bill = "-- tokens: 11 in, 7 out, $1.10";
    let ran = scene.haft(&["-p", "-v", "-c", "Further."]);
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("Four.\n", format!("{bill}\n")));
    let ran = scene.haft(&["-p", "-v", "-c", "Further."]);
    assert_eq!(ran.stderr, format!("{bill}; the session: $2.20\n"));
}

/// Writes these compaction settings, and a window of 8,000 tokens.
fn configure(scene: &Scene, keys: &str) {
    std::fs::create_dir_all(scene.world.home()).unwrap();
    std::fs::write(scene.world.home().join("config.toml"), format!("[compaction]\n{keys}\n")).unwrap();
    let models = json!({"providers": {"openai-chat": {"models": {"m": {"window": 8000}}}}});
    std::fs::write(scene.world.home().join("models.json"), models.to_string()).unwrap();
}

#[test]
fn configuration_sets_trigger_and_kept_size() {
    let full = TokenCounts { input: 5_000, output: 5, cache_read: 0, cache_write: 0 };
    let long = "And so on. ".repeat(800);
    let answers = || vec![Scenario::text(long.clone()).usage(full).cut_every(0); 2];
    let scene = Scene::new([answers(), vec![Scenario::text(SUMMARY), Scenario::text("Three.")]].concat());
    let prompts = |scene: &Scene| {
        for prompt in ["Count.", "Go on.", "Further."] {
            let ran = scene.haft(&["-p", "-c", prompt][if prompt == "Count." { 2 } else { 0 }..]);
            ran.expect(0);
        }
        scene.server.requests().len()
    };
    // 5,000 of 8,000 tokens exceed the limit only with a reserve of 3,500.
    configure(&scene, "reserve = 3500\nkeep = 500");
    assert_eq!(prompts(&scene), 4, "including the one for the summary");
    let off = Scene::new([answers(), vec![Scenario::text("Three.")]].concat());
    configure(&off, "reserve = 3500\nauto = false");
    assert_eq!(prompts(&off), 3);
}
