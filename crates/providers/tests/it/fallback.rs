//! Tests of fallback models.

use std::sync::Arc;
use std::time::Duration;

use haft_core::model::{Model, ModelErrorKind, ModelEvent};
use haft_protocol::message::AssistantBlock;
use haft_providers::{FallbackModel, HttpModel};
use haft_test_support::model_server::{AnswerFault, ModelServer, Scenario, WireFormat};

use crate::support::{ask, assistant, config, gather, impatient, start, user};

struct Stage {
    first: ModelServer,
    second: ModelServer,
    model: FallbackModel,
}

async fn stage(first: Vec<Scenario>, second: Vec<Scenario>) -> Stage {
    let first = ModelServer::start(WireFormat::Anthropic, first).await;
    let second = ModelServer::start(WireFormat::OpenAiResponses, second).await;
    let open = |server, wire, name| -> Arc<dyn Model> {
        Arc::new(HttpModel::with_timeouts(config(server, wire, name), impatient()).unwrap())
    };
    let one = open(&first, WireFormat::Anthropic, "claude-sonnet-4-6");
    let two = open(&second, WireFormat::OpenAiResponses, "gpt-5.6");
    Stage { first, second, model: FallbackModel::new(one, [two]) }
}

impl Stage {
    fn requests(&self) -> (usize, usize) {
        (self.first.requests().len(), self.second.requests().len())
    }
}

fn fallbacks(events: &[ModelEvent]) -> Vec<String> {
    let fallbacks = events.iter().filter_map(|event| match event {
        ModelEvent::Fallback { from, to, .. } => Some(format!("{from} > {to}")),
        _ => None,
    });
    fallbacks.collect()
}

/// Returns the models that the stream names.
fn answering(events: &[ModelEvent]) -> Vec<&str> {
    let named = events.iter().filter_map(|event| match event {
        ModelEvent::Answering(info) => Some(info.provider.as_str()),
        _ => None,
    });
    named.collect()
}

fn failing(status: u16, code: &str) -> Vec<Scenario> {
    vec![Scenario::status(status, code, "no"); 4]
}

const SWITCH: &str = "anthropic/claude-sonnet-4-6 > openai/gpt-5.6";

#[tokio::test]
async fn next_model_answers_while_the_first_is_unavailable() {
    let faults = [
        (failing(529, "overloaded_error"), 4),
        (failing(429, "rate_limit_error"), 4),
        (failing(401, "authentication_error"), 1),
        (vec![Scenario::new().fault(AnswerFault::Reset); 4], 4),
    ];
    for (first, asked) in faults {
        let stage = stage(first, vec![Scenario::text("Hi."), Scenario::text("Again.")]).await;
        let (events, answer) = ask(&stage.model, "hello").await;
        assert_eq!(answer.unwrap().content, [AssistantBlock::Text { text: "Hi.".into() }]);
        assert_eq!((fallbacks(&events), stage.requests()), (vec![SWITCH.to_owned()], (asked, 1)));
        assert_eq!(answering(&events), ["openai"]);
        // The model that answered is used again.
        assert_eq!(stage.model.info().provider, "openai");
        let (events, answer) = ask(&stage.model, "and now?").await;
        assert!(answer.is_ok() && fallbacks(&events).is_empty());
        assert_eq!(answering(&events), ["openai"]);
        assert_eq!(stage.requests(), (asked, 2));
    }
}

#[tokio::test]
async fn request_errors_are_reported_without_fallback() {
    for (first, kind) in [
        (Scenario::status(400, "invalid_request_error", "prompt is too long"), ModelErrorKind::Overflow),
        (Scenario::status(400, "invalid_request_error", "bad argument"), ModelErrorKind::Rejected),
        (Scenario::text("Half an ans").fault(AnswerFault::Reset), ModelErrorKind::Connection),
        (Scenario::text("Half").fault(AnswerFault::NoFinalEvent), ModelErrorKind::Truncated),
    ] {
        let stage = stage(vec![first], vec![Scenario::text("Hi.")]).await;
        let (events, answer) = ask(&stage.model, "hello").await;
        assert_eq!((answer.unwrap_err().kind, fallbacks(&events).len()), (kind, 0));
        assert_eq!(stage.requests(), (1, 0));
    }
}

#[tokio::test]
async fn reports_last_error_when_all_models_fail() {
    let stage = stage(failing(401, "authentication_error"), failing(503, "server_error")).await;
    let (events, answer) = ask(&stage.model, "hello").await;
    let error = answer.unwrap_err();
    assert!(error.kind == ModelErrorKind::Unavailable && error.message.contains("openai"), "{error}");
    assert_eq!((fallbacks(&events).len(), stage.requests()), (1, (1, 4)));
    assert_eq!(stage.model.info().provider, "anthropic", "no model has answered yet");
}

#[tokio::test]
async fn stream_names_the_answering_model() {
    let stage = stage(
        vec![Scenario::status(401, "authentication_error", "no"), Scenario::text("Back.")],
        vec![Scenario::text("Hi."), Scenario::text("Again.")],
    )
    .await;
    ask(&stage.model, "hello").await.1.unwrap();
    // The request starts within the five minutes, and the answer ends after them.
    let stream = start(&stage.model, vec![user("and now?")]).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(301)).await;
    tokio::time::resume();
    assert_eq!(stage.model.info().provider, "anthropic");
    let (events, answer) = gather(stream).await;
    assert_eq!((answering(&events), answer.is_ok()), (vec!["openai"], true));
    // Further answers of the fallback do not extend the five minutes.
    let (events, _) = ask(&stage.model, "and then?").await;
    assert_eq!((answering(&events), stage.requests()), (vec!["anthropic"], (2, 2)));
}

#[tokio::test]
async fn retries_preferred_model_after_five_minutes() {
    let stage = stage(
        vec![Scenario::status(401, "authentication_error", "no"), Scenario::text("Back.")],
        vec![Scenario::text("Hi.")],
    )
    .await;
    ask(&stage.model, "hello").await.1.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(301)).await;
    tokio::time::resume();
    assert_eq!(stage.model.info().provider, "anthropic");
    ask(&stage.model, "hello").await.1.unwrap();
    assert_eq!(stage.requests(), (2, 1));
}

#[tokio::test]
async fn does_not_send_native_data_to_another_model() {
    let thought = Scenario::new().think("Secret thought", "c2lnbmF0dXJl").say("One.");
    let first = [vec![thought], failing(529, "overloaded_error")].concat();
    let stage = stage(first, vec![Scenario::text("Two.")]).await;
    let mut messages = vec![user("hello")];
    let answer = gather(start(&stage.model, messages.clone()).await).await.1.unwrap();
    assert!(answer.native.is_some());
    messages.extend([assistant(answer), user("go on")]);
    gather(start(&stage.model, messages).await).await.1.unwrap();
    let body = stage.second.requests()[0].body.to_string();
    assert!(body.contains("One.") && !body.contains("c2lnbmF0dXJl"), "{body}");
}
