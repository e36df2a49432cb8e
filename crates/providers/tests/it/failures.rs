//! Tests of failures and their messages.

use std::time::Duration;

use haft_core::model::{Advice, ModelErrorKind, ModelEvent};
use haft_providers::HttpModel;
use haft_test_support::PATIENCE;
use haft_test_support::model_server::{AnswerFault, ModelServer, Scenario, WireFormat};
use tokio_util::sync::CancellationToken;

use crate::support::{ask, config, each, impatient, request, user};

fn retries(events: &[ModelEvent]) -> Vec<(u32, Duration)> {
    let retries = events.iter().filter_map(|event| match event {
        ModelEvent::Retry { attempt, delay, .. } => Some((*attempt, *delay)),
        _ => None,
    });
    retries.collect()
}

/// Checks that each scenario ends in an error of this kind with these texts, after this many requests.
async fn check(scenarios: Vec<Scenario>, kind: ModelErrorKind, says: &[&str], requests: usize) {
    each(scenarios, async |wire, server, model| {
        let (events, answer) = ask(&model, "hello").await;
        let error = answer.expect_err("a failure");
        assert_eq!(error.kind, kind, "{wire:?}: {error}");
        for part in says {
            assert!(error.message.contains(part), "{wire:?}: {part:?} is not in {:?}", error.message);
        }
        assert_eq!(server.requests().len(), requests, "{wire:?}: {error}");
        assert_eq!(retries(&events).len(), requests - 1, "{wire:?} tells each retry");
        assert_eq!(server.scenarios_left(), 0, "{wire:?} met every fault");
    })
    .await;
}

fn error_event(code: &str) -> AnswerFault {
    AnswerFault::ErrorEvent { code: code.into(), message: "Too much going on".into() }
}

#[tokio::test]
async fn retries_after_429() {
    let scenarios = vec![Scenario::rate_limited("0"), Scenario::text("hi")];
    each(scenarios, async |wire, server, model| {
        let (events, answer) = ask(&model, "hello").await;
        assert!(answer.is_ok(), "{wire:?}: {answer:?}");
        assert_eq!(retries(&events), [(2, Duration::ZERO)]);
        let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
        assert_eq!(bodies[0], bodies[1], "{wire:?} sends the same again");
    })
    .await;
}

#[tokio::test]
async fn retry_after_determines_the_delay() {
    for (header, wait) in [("7", 7), ("86400", 60)] {
        each(vec![Scenario::rate_limited(header)], async |wire, _, model| {
            let cancel = CancellationToken::new();
            let mut stream =
                haft_core::model::Model::stream(&model, cancel.clone(), request(vec![user("hi")]))
                    .await
                    .unwrap();
            let first = futures::StreamExt::next(&mut stream).await.unwrap().unwrap();
            let ModelEvent::Retry { attempt: 2, delay, message, .. } = first else {
                panic!("{wire:?}: {first:?}")
            };
            assert_eq!(delay, Duration::from_secs(wait), "{wire:?}");
            assert!(message.contains("too many requests"), "{message}");
            cancel.cancel();
            let last = futures::StreamExt::next(&mut stream).await.unwrap().unwrap_err();
            assert_eq!(last.kind, ModelErrorKind::Cancelled, "{wire:?}: the wait ends at once");
        })
        .await;
    }
}

#[tokio::test]
async fn stops_after_four_attempts() {
    let says = ["429", "too many requests", "tried 4 times"];
    check(vec![Scenario::rate_limited("0"); 4], ModelErrorKind::RateLimited, &says, 4).await;
    let overloaded = Scenario::status(529, "overloaded_error", "Overloaded");
    check(vec![overloaded; 4], ModelErrorKind::Unavailable, &["529", "overloaded_error", "tried 4"], 4).await;
    let broken = Scenario::status(500, "api_error", "Internal");
    check(vec![broken; 4], ModelErrorKind::Unavailable, &["500", "Internal"], 4).await;
}

#[tokio::test]
async fn error_has_status_delay_and_advice() {
    for (scenario, status, delay, advice) in [
        (Scenario::status(401, "authentication_error", "invalid key"), Some(401), None, Some(Advice::ApiKey)),
        (Scenario::status(404, "model_not_found", "no such model"), Some(404), None, Some(Advice::Model)),
        (Scenario::status(400, "invalid_request_error", "no"), Some(400), None, None),
        (Scenario::new().fault(AnswerFault::Html), None, None, Some(Advice::BaseUrl)),
    ] {
        each(vec![scenario], async |wire, _, model| {
            let error = ask(&model, "hello").await.1.expect_err("a failure");
            assert_eq!((error.status, error.retry_after, error.advice), (status, delay, advice), "{wire:?}");
        })
        .await;
    }
    each(vec![Scenario::rate_limited("0"); 4], async |wire, _, model| {
        let error = ask(&model, "hello").await.1.expect_err("a failure");
        let expect = (Some(429), Some(Duration::ZERO), None);
        assert_eq!((error.status, error.retry_after, error.advice), expect, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn does_not_retry_permanent_failures() {
    let refused = vec![Scenario::status(401, "authentication_error", "invalid key")];
    check(refused, ModelErrorKind::Auth, &["401", "invalid key", "_API_KEY"], 1).await;
    let forbidden = vec![Scenario::status(403, "permission_error", "not for you")];
    check(forbidden, ModelErrorKind::Auth, &["403", "not for you"], 1).await;
    let wrong = vec![Scenario::status(400, "invalid_request_error", "max_tokens: too small")];
    check(wrong, ModelErrorKind::Rejected, &["400", "max_tokens: too small"], 1).await;
    let long = vec![Scenario::status(400, "context_length_exceeded", "2 tokens are too many")];
    check(long, ModelErrorKind::Overflow, &["400", "2 tokens", "larger"], 1).await;
    let unknown = vec![Scenario::status(404, "model_not_found", "no such model")];
    check(unknown, ModelErrorKind::Rejected, &["404", "model's name", "address"], 1).await;
    let used_up = vec![Scenario::status(429, "insufficient_quota", "You exceeded your quota")];
    check(used_up, ModelErrorKind::RateLimited, &["no credit left", "billing"], 1).await;
    let unpaid = vec![Scenario::status(402, "unknown_error", "Insufficient Balance")];
    check(unpaid, ModelErrorKind::RateLimited, &["402", "no credit left", "billing"], 1).await;
    let low = "Your credit balance is too low to access the API";
    let unpaid = vec![Scenario::status(400, "invalid_request_error", low)];
    check(unpaid, ModelErrorKind::RateLimited, &["400", low, "no credit left"], 1).await;
}

#[tokio::test]
async fn detects_overflow_inside_an_answer() {
    let scenario = Scenario::new().fault(error_event("context_length_exceeded"));
    check(vec![scenario], ModelErrorKind::Overflow, &["exceeds the model's context window"], 1).await;
}

#[tokio::test]
async fn retries_error_event_or_reset_before_the_answer() {
    for fault in [error_event("overloaded_error"), AnswerFault::Reset] {
        let scenarios = vec![Scenario::new().fault(fault), Scenario::text("hi")];
        each(scenarios, async |wire, server, model| {
            let (events, answer) = ask(&model, "hello").await;
            assert!(answer.is_ok(), "{wire:?}: {answer:?}");
            assert_eq!((retries(&events).len(), server.scenarios_left()), (1, 0), "{wire:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn does_not_retry_error_event_in_the_answer() {
    for (code, kind) in [
        ("overloaded_error", ModelErrorKind::Unavailable),
        ("server_error", ModelErrorKind::Unavailable),
        ("rate_limit_error", ModelErrorKind::RateLimited),
        ("invalid_request_error", ModelErrorKind::Rejected),
    ] {
        let scenario = Scenario::text("I was").fault(error_event(code));
        check(vec![scenario], kind, &[code, "Too much going on"], 1).await;
    }
}

#[tokio::test]
async fn reports_reset_in_the_answer() {
    let scenario = Scenario::text("I was going to say").fault(AnswerFault::Reset);
    check(vec![scenario], ModelErrorKind::Connection, &["during its answer"], 1).await;
}

#[tokio::test]
async fn reports_end_without_the_final_event() {
    let says = ["without the final event"];
    for scenario in [Scenario::text("I was going to"), Scenario::new().tool("call_a", "weather", "{\"a\"")] {
        let scenario = scenario.fault(AnswerFault::NoFinalEvent);
        check(vec![scenario], ModelErrorKind::Truncated, &says, 1).await;
    }
}

/// A timeout before the status, after it, or in the middle of the answer. After ten minutes of silence, three retries
/// would take too long.
#[tokio::test]
async fn does_not_retry_silent_server() {
    for scenario in [
        Scenario::new().fault(AnswerFault::Silent),
        Scenario::new().fault(AnswerFault::Hang),
        Scenario::text("I was").fault(AnswerFault::Hang),
    ] {
        let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, vec![scenario; 2]);
        let mut timeouts = impatient();
        timeouts.idle = Duration::from_secs(1);
        let config = config(&server, WireFormat::OpenAiChat, "any-model");
        let model = HttpModel::with_timeouts(config, timeouts).unwrap();
        let (events, answer) = ask(&model, "hello").await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Connection);
        assert!(error.message.contains("did not respond in time"), "{error}");
        let asked = move || (server.wait_for_requests(1, PATIENCE), server.requests().len());
        let asked = tokio::task::spawn_blocking(asked).await.unwrap();
        assert_eq!((retries(&events).len(), asked), (0, (true, 1)), "{error}");
    }
}

#[tokio::test]
async fn reports_page_instead_of_stream() {
    let scenario = Scenario::new().fault(AnswerFault::Html);
    check(vec![scenario], ModelErrorKind::Rejected, &["event stream", "Sign in", "address"], 1).await;
}

#[tokio::test]
async fn closed_port_is_a_connection_error() {
    let server = ModelServer::start(WireFormat::OpenAiChat, Vec::new()).await;
    let mut config = config(&server, WireFormat::OpenAiChat, "local-model");
    // The port is bound without a listener, because another test could reuse the port of a stopped server.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    config.base_url = Some(format!("http://{}/v1", socket.local_addr().unwrap()));
    let model = HttpModel::with_timeouts(config, impatient()).unwrap();
    let (events, answer) = ask(&model, "hello").await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Connection);
    assert!(error.message.contains("cannot be reached at http://127.0.0.1:"), "{error}");
    assert_eq!(retries(&events).len(), 3);
}

#[tokio::test]
async fn tls_failure_is_a_connection_error() {
    let server = ModelServer::start(WireFormat::OpenAiChat, Vec::new()).await;
    let mut config = config(&server, WireFormat::OpenAiChat, "local-model");
    config.base_url = Some(server.base_url().replace("http://", "https://"));
    let model = HttpModel::with_timeouts(config, impatient()).unwrap();
    let error = ask(&model, "hello").await.1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Connection);
    assert!(error.message.contains("cannot be reached"), "{error}");
}
