//! The events that hooks receive, and their envelope.

use haft_core::hooks::CancellationToken;
use haft_core::model::ModelErrorKind;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{Message, Rfc3339Time};
use serde_json::{Value, json};

use super::super::agency::{PLAIN_TURN, Script, answers, goes_on, one_call, said};
use super::{HookTranscript, Scene};

async fn minimal() -> HookTranscript {
    Scene::new(&[], one_call(), goes_on).await.prompt().await.1
}

#[tokio::test(start_paused = true)]
async fn queries_and_events_use_current_session() {
    let scene = Scene::new(&["before_tool"], one_call(), goes_on).await;
    let agent = scene.agent().build().unwrap();
    scene.stage.prompt(&agent, "before it is known").await;
    scene.host.session_start(Some(agent.session()));
    scene.stage.prompt(&agent, "hello").await;
    let told = scene.end().await;
    let turn = |event: &Value| event["scope"]["turn_id"].clone();
    let ends = told.events("agent.turn.end");
    assert_ne!(turn(ends[0]), turn(ends[1]));
    let keys = ends.iter().map(|event| event["scope"]["session_key"].as_str().unwrap());
    let [before, after] = keys.collect::<Vec<_>>()[..] else { panic!("{ends:?}") };
    assert!(!before.is_empty());
    assert_eq!(after, agent.session().id().to_string());
    let asked = told.asked("hook.before_tool")[0];
    assert_eq!(asked["meta"]["SessionKey"], before);
}

#[tokio::test(start_paused = true)]
async fn emits_minimal_turn_events() {
    let told = minimal().await;
    assert_eq!(told.kinds(), PLAIN_TURN);
    let events = told.asked("hook.runtime_event");
    let turn = events[0]["scope"]["turn_id"].as_str().unwrap();
    assert!(turn.starts_with("main-turn-"), "{turn}");
    let iterations: Vec<&Value> = events.iter().map(|event| &event["attrs"]["iteration"]).collect();
    let expect = [json!(null), json!(1), json!(1), json!(1), json!(1), json!(2), json!(2), json!(2)];
    assert_eq!(iterations, expect.iter().collect::<Vec<_>>());
    for event in &events {
        let scope = &event["scope"];
        assert_eq!((&scope["turn_id"], &scope["agent_id"]), (&json!(turn), &json!("main")));
        assert_eq!((&scope["channel"], &scope["chat_id"]), (&json!("cli"), &json!("direct")));
    }
    assert_eq!(events[7]["payload"]["Status"], "completed");
    assert_eq!(events[7]["payload"]["Iterations"], 2);
}

/// A message on a terminal has no id.
#[tokio::test(start_paused = true)]
async fn hooks_runtime_observer_receives_events() {
    let told = minimal().await;
    let [end] = &told.events("agent.turn.end")[..] else { panic!("{:?}", told.kinds()) };
    let scope = &end["scope"];
    assert_eq!((&scope["channel"], &scope["chat_id"]), (&json!("cli"), &json!("direct")));
    assert!(!scope["session_key"].as_str().unwrap().is_empty());
    assert_eq!(scope.get("message_id"), None);
    assert_eq!(end["payload"]["UserMessage"], "hello");
}

#[tokio::test(start_paused = true)]
async fn publishes_runtime_events() {
    let told = minimal().await;
    let events = told.asked("hook.runtime_event");
    for (number, event) in (1..).zip(&events) {
        assert_eq!(event["id"], format!("evt-{number}"));
        assert_eq!(event["source"], json!({"component": "agent", "name": "main"}));
        assert_eq!(event["severity"], "info");
        assert!(event["time"].as_str().unwrap().ends_with('Z'), "{event}");
        assert!(event["correlation"]["trace_id"].as_str().unwrap().starts_with("turn."), "{event}");
        assert_eq!(event["attrs"]["agent_source"], "runTurn");
    }
    assert_eq!(told.events("agent.tool.exec_start")[0]["correlation"]["trace_id"], "turn.tool.start");
    assert_eq!(events[3]["payload"], json!({"Tool": "bash", "Arguments": {"command": "ls"}}));
}

/// The end of a turn that a hook ends. PicoClaw no longer reports the reason.
#[tokio::test(start_paused = true)]
async fn turn_ended_by_hook_reports_reason() {
    for method in ["hook.before_llm", "hook.after_llm", "hook.before_tool", "hook.after_tool"] {
        for (action, status, errors) in [("abort_turn", "error", 1), ("hard_abort", "aborted", 0)] {
            let does = answers(method, json!({"action": action, "reason": "enough"}));
            let (_, told) = Scene::new(super::ALL, one_call(), does).await.prompt().await;
            let [end] = &told.events("agent.turn.end")[..] else { panic!("{:?}", told.kinds()) };
            assert_eq!(end["payload"]["Status"], status, "{method} {action}");
            let messages: Vec<&Value> =
                told.events("agent.error").iter().map(|event| &event["payload"]["Message"]).collect();
            assert_eq!(messages.len(), errors, "{method} {action}");
            assert!(messages.iter().all(|text| text.as_str().unwrap().contains("enough")), "{messages:?}");
        }
    }
}

/// Returns an old conversation of three thousand tokens.
fn old() -> Vec<Message> {
    let text = "x".repeat(400);
    let user = |_| Message::User { content: vec![ContentBlock::text(&*text)], time: Rfc3339Time("T".into()) };
    (0..60).map(user).collect()
}

/// The hook is queried again about the request that contains the summary. PicoClaw loses the hook's changes
/// then.
#[tokio::test(start_paused = true)]
async fn emits_context_compress_event_on_retry_and_asks_again() {
    let script = Script::new("demo", vec![vec![said("notes")], vec![said("ok")]]);
    script.fails_first(ModelErrorKind::Overflow);
    let scene = Scene::of(&["before_llm"], script, goes_on).await;
    let agent = scene.agent().messages(old()).build().unwrap();
    let ran = scene.stage.prompt(&agent, "hello").await;
    let told = scene.end().await;
    assert_eq!((ran.answer().as_str(), told.events.faults()), ("ok", vec![]));
    let [compress] = &told.events("agent.context.compress")[..] else { panic!("{:?}", told.kinds()) };
    assert_eq!(
        (&compress["payload"]["Reason"], &compress["severity"]),
        (&json!("llm_retry"), &json!("warn"))
    );
    let turn = &told.events("agent.turn.end")[0]["scope"]["turn_id"];
    assert_eq!(compress["scope"]["turn_id"], *turn, "in PicoClaw the event has no turn");
    let asked = told.asked("hook.before_llm");
    let [first, second] = &asked[..] else { panic!("{}", asked.len()) };
    let length = |params: &Value| params["messages"].as_array().unwrap().len();
    assert!(length(second) < length(first), "{} {}", length(first), length(second));
}

#[tokio::test(start_paused = true)]
async fn emits_session_summarize_event() {
    let script = Script::new("demo", vec![vec![said("ok")], vec![said("notes")]]);
    let scene = Scene::of(&[], script, goes_on).await;
    let agent = scene.agent().messages(old()).build().unwrap();
    scene.stage.prompt(&agent, "hello").await;
    agent.compact(CancellationToken::new(), None).await.unwrap();
    let told = scene.end().await;
    let [summarize] = &told.events("agent.session.summarize")[..] else { panic!("{:?}", told.kinds()) };
    assert_eq!(summarize["payload"]["SummaryLen"], "notes".len());
    assert_eq!(told.events("agent.context.compress")[0]["payload"]["Reason"], "summarize");
}
