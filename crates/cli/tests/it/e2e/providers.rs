//! The same journey in each of the three dialects, and what can go wrong on the way.

use haft_test_support::model_server::{AnswerFault, Scenario, WireFormat};
use serde_json::{Value, json};

use super::running::{Ran, Running};
use super::scene::{KEY, Scene, bash};
use crate::world::World;

const WIRES: [WireFormat; 3] = [WireFormat::Anthropic, WireFormat::OpenAiChat, WireFormat::OpenAiResponses];

#[test]
fn the_whole_journey_cut_at_every_byte_anthropic() {
    journey(WireFormat::Anthropic);
}

#[test]
fn the_whole_journey_cut_at_every_byte_chat() {
    journey(WireFormat::OpenAiChat);
}

#[test]
fn the_whole_journey_cut_at_every_byte_responses() {
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
fn a_limit_is_waited_for() {
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

/// Runs against one fault; the run fails once, says why, and keeps the order of its events.
#[track_caller]
fn fails(wire: WireFormat, scenarios: Vec<Scenario>, code: i32) -> Ran {
    let scene = Scene::speaking(wire, scenarios);
    let ran = scene.haft(&["--json", "hi"]);
    ran.expect(code);
    let kinds: Vec<Value> = ran.events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds[kinds.len() - 3..], ["turn_end", "error", "done"], "{wire:?}");
    assert_eq!(ran.of("turn_end")[0]["stop"], "error");
    assert_eq!((ran.of("error").len(), scene.server.scenarios_left()), (1, 0), "{wire:?}");
    assert!(!format!("{ran:?}{}", scene.logs()).contains(KEY), "{wire:?}: the key shows");
    ran
}

fn message(ran: &Ran) -> String {
    ran.of("error")[0]["message"].as_str().unwrap().to_owned()
}

#[test]
fn an_overloaded_provider_is_asked_four_times() {
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
fn an_error_in_mid_answer_is_told() {
    for wire in WIRES {
        let fault =
            AnswerFault::ErrorEvent { code: "server_error".into(), message: "the cook is ill".into() };
        let ran = fails(wire, vec![Scenario::text("Half an ans").fault(fault)], 5);
        assert!(message(&ran).contains("the cook is ill"), "{wire:?}: {}", message(&ran));
        assert_eq!(deltas(&ran), "Half an ans", "{wire:?}");
    }
}

#[test]
fn a_connection_that_is_cut_is_told() {
    for wire in WIRES {
        let ran = fails(wire, vec![Scenario::text("Half an ans").fault(AnswerFault::Reset)], 5);
        assert_eq!(deltas(&ran), "Half an ans", "{wire:?}");
    }
}

#[test]
fn an_end_without_the_final_event_is_told() {
    for wire in WIRES {
        let half = Scenario::new().say("Half").tool("t1", "bash", r#"{"command":"touch touched"}"#);
        let ran = fails(wire, vec![half.fault(AnswerFault::NoFinalEvent)], 5);
        assert_eq!(ran.of("tool_result"), Vec::<Value>::new(), "{wire:?}: an unfinished call must not run");
    }
}

#[test]
fn a_refused_key_is_told_and_not_shown() {
    for wire in WIRES {
        let refused = Scenario::status(401, "authentication_error", "invalid key {key}");
        let ran = fails(wire, vec![refused], 6);
        assert!(message(&ran).contains("key"), "{}", message(&ran));
    }
}

#[test]
fn a_missing_key_names_the_ways() {
    let world = World::new();
    let ran = Running::start(world.command(&["-p", "--provider", "anthropic", "hi"]), None).wait();
    ran.expect(6);
    assert!(
        ["ANTHROPIC_API_KEY", "auth.json", "--api-key"].iter().all(|way| ran.stderr.contains(way)),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stdout, "");
}

#[test]
fn no_provider_names_the_ways() {
    // With a model server of one's own on a default port, that one would be asked.
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
fn extensions_do_not_get_the_key() {
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
fn the_log_names_the_model() {
    let scene = Scene::new(vec![Scenario::text("Hi.")]);
    scene.haft(&["-p", "hi"]).expect(0);
    let log = scene.logs();
    assert!(log.contains("using openai-chat/m, as requested"), "{log}");
}
