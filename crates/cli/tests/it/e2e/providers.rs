//! The same run in each of the three dialects, and its possible failures.

use haft_test_support::model_server::{AnswerFault, Scenario, WireFormat};
use serde_json::{Value, json};

use super::running::{Ran, Running};
use super::scene::{KEY, Scene, bash};
use crate::world::World;

const WIRES: [WireFormat; 3] = [WireFormat::Anthropic, WireFormat::OpenAiChat, WireFormat::OpenAiResponses];

#[test]
fn anthropic_run_survives_a_split_at_every_byte() {
    journey(WireFormat::Anthropic);
}

#[test]
fn openai_chat_run_survives_a_split_at_every_byte() {
    journey(WireFormat::OpenAiChat);
}

#[test]
fn openai_responses_run_survives_a_split_at_every_byte() {
    journey(WireFormat::OpenAiResponses);
}

fn journey(wire: WireFormat) {
    let steps = vec![
        Scenario::new().say("Ich frage für Zürich 🌦.").tool("t1", "weather", r#"{"city":"Zürich \"🏔\""}"#),
        bash("t2", "rm -rf build"),
        Scenario::text("Fertig – nichts gelöscht ✓."),
    ];
    let steps = steps.into_iter().map(|step| step.cut_every(1)).collect();
    let scene = Scene::speaking(wire, steps).example("weather").example("guard");
    std::fs::create_dir(scene.world.project().join("build")).unwrap();
    let ran = scene.haft(&["--json", "Wie ist das Wetter?"]);
    ran.expect(0);

    assert_eq!(ran.of("tool_call")[0]["args"], json!({"city": "Zürich \"🏔\""}), "{wire:?}");
    let results: Vec<String> =
        ran.of("tool_result").iter().map(|event| event["content"].to_string()).collect();
    assert!(
        results[0].contains("°C") && results[1].contains("refused: matches danger pattern"),
        "{results:?}"
    );
    let blocked = ran.of("tool_blocked");
    assert_eq!((blocked.len(), &blocked[0]["by"]), (1, &json!("guard")), "{wire:?}");
    assert!(scene.world.project().join("build").exists());
    assert_eq!(deltas(&ran), "Ich frage für Zürich 🌦.Fertig – nichts gelöscht ✓.", "{wire:?}");
    let usage = ran.of("usage");
    assert_eq!(
        (usage.len(), &usage[2]["input"], &usage[2]["output"]),
        (3, &json!(11), &json!(7)),
        "{wire:?}"
    );
    assert_eq!(usage[2]["cumulative"]["input"], 33);
    assert_eq!(usage[2]["cumulative"]["output"], 21);
    assert_eq!(ran.events().last().unwrap()["type"], "done");
    let third = scene.server.requests()[2].body.to_string();
    assert!(third.contains("°C") && third.contains("refused: matches danger pattern"), "{third}");
    assert_eq!((ran.faults(), scene.server.scenarios_left()), (vec![], 0));
}

fn deltas(ran: &Ran) -> String {
    ran.of("text_delta").iter().map(|event| event["delta"].as_str().unwrap()).collect()
}

#[test]
fn waits_for_rate_limit() {
    for wire in WIRES {
        let scene = Scene::speaking(wire, vec![Scenario::rate_limited("0"), Scenario::text("Now.")]);
        let ran = scene.haft(&["--json", "hi"]);
        ran.expect(0);
        let retries = ran.of("retry");
        assert_eq!((retries.len(), &retries[0]["attempt"]), (1, &json!(2)), "{wire:?}");
        assert_eq!(retries[0]["delay_ms"], 0);
        assert_eq!(deltas(&ran), "Now.");
    }
}

/// Runs against one fault. The run fails once, reports the reason, and keeps the order of its events.
#[track_caller]
fn fails(wire: WireFormat, scenarios: Vec<Scenario>, code: i32) -> Ran {
    let scene = Scene::speaking(wire, scenarios);
    let ran = scene.haft(&["--json", "hi"]);
    ran.expect(code);
    let kinds: Vec<Value> = ran.events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds[kinds.len() - 4..], ["turn_end", "error", "settled", "done"], "{wire:?}");
    assert_eq!(ran.of("turn_end")[0]["stop"], "error");
    assert_eq!((ran.of("error").len(), scene.server.scenarios_left()), (1, 0), "{wire:?}");
    assert!(!format!("{ran:?}{}", scene.logs()).contains(KEY), "{wire:?}: the key shows");
    ran
}

fn message(ran: &Ran) -> String {
    ran.of("error")[0]["message"].as_str().unwrap().to_owned()
}

#[test]
fn asks_overloaded_provider_four_times() {
    for wire in WIRES {
        let overloaded = Scenario::new().fault(AnswerFault::Status {
            status: 529,
            retry_after: Some("0".into()),
            code: "overloaded_error".into(),
            message: "Overloaded".into(),
        });
        let ran = fails(wire, vec![overloaded; 4], 5);
        assert_eq!(ran.of("retry").len(), 3, "{wire:?}");
        assert!(message(&ran).contains("tried 4 times"), "{}", message(&ran));
    }
}

#[test]
fn reports_error_in_middle_of_answer() {
    for wire in WIRES {
        let fault =
            AnswerFault::ErrorEvent { code: "server_error".into(), message: "the cook is ill".into() };
        let ran = fails(wire, vec![Scenario::text("Half an ans").fault(fault)], 5);
        assert!(message(&ran).contains("the cook is ill"), "{wire:?}: {}", message(&ran));
        assert_eq!(deltas(&ran), "Half an ans", "{wire:?}");
    }
}

#[test]
fn reports_broken_connection() {
    for wire in WIRES {
        let ran = fails(wire, vec![Scenario::text("Half an ans").fault(AnswerFault::Reset)], 5);
        assert_eq!(deltas(&ran), "Half an ans", "{wire:?}");
    }
}

#[test]
fn reports_end_without_final_event() {
    for wire in WIRES {
        let half = Scenario::new().say("Half").tool("t1", "bash", r#"{"command":"touch touched"}"#);
        let ran = fails(wire, vec![half.fault(AnswerFault::NoFinalEvent)], 5);
        assert_eq!(ran.of("tool_result"), Vec::<Value>::new(), "{wire:?}: an unfinished call must not run");
    }
}

#[test]
fn reports_rejected_key_without_showing_it() {
    for wire in WIRES {
        let refused = Scenario::status(401, "authentication_error", "invalid key {key}");
        let ran = fails(wire, vec![refused], 6);
        assert!(message(&ran).contains("key"), "{}", message(&ran));
    }
}

#[test]
fn missing_key_lists_ways_to_set_it() {
    let world = World::new();
    let ran = Running::start(world.command(&["-p", "--provider", "anthropic", "hi"]), None).wait();
    ran.expect(6);
    assert!(
        ["ANTHROPIC_API_KEY", "haft login", "--api-key"].iter().all(|way| ran.stderr.contains(way)),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stdout, "");
}

#[test]
fn missing_provider_lists_ways_to_set_it() {
    // A model server on a default port of this machine would be used.
    let local = [11434, 8080, 8000, 1234];
    if local.iter().any(|port| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok()) {
        return;
    }
    let world = World::new();
    let ran = Running::start(world.command(&["-p", "hi"]), None).wait();
    ran.expect(6);
    for way in ["--provider", "ANTHROPIC_API_KEY", "Ollama", "haft demo"] {
        assert!(ran.stderr.contains(way), "{way}: {}", ran.stderr);
    }
    assert_eq!(ran.stdout, "");
}

#[test]
fn hides_key_from_extensions() {
    let body = r#"
for name in os.environ:
    if "KEY" in name or "TOKEN" in name:
        mark(name)
emit("ready")
for frame in frames():
    pass
mark("left")
"#;
    let scene = Scene::new(vec![Scenario::text("Hi.")]).python("nosy", body);
    let mut command = scene.command(&["-p", "hi"]);
    command.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY).env("HAFT_API_KEY", KEY);
    Running::start(command, None).wait().expect(0);
    assert_eq!(scene.marks(), ["left"]);
}

#[test]
fn log_names_model() {
    let scene = Scene::new(vec![Scenario::text("Hi.")]);
    scene.haft(&["-p", "hi"]).expect(0);
    let log = scene.logs();
    assert!(log.contains("using openai-chat/m, as requested"), "{log}");
}
