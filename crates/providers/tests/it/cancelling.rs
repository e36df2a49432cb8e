//! Tests of cancellation: a request ends in every phase, and the server notices.

use futures::StreamExt;
use haft_core::model::{Model, ModelErrorKind, ModelEvent};
use haft_providers::HttpModel;
use haft_test_support::PATIENCE;
use haft_test_support::model_server::{AnswerFault, ModelServer, Scenario};
use tokio_util::sync::CancellationToken;

use crate::support::{DIALECTS, config, impatient, request, start, user};

/// The server has its own thread, because waiting for the disconnect blocks this one.
fn each_with_thread(scenario: &Scenario) -> impl Iterator<Item = (ModelServer, HttpModel)> {
    let scenario = scenario.clone();
    DIALECTS.into_iter().map(move |(wire, name)| {
        let server = ModelServer::spawn_thread(wire, vec![scenario.clone()]);
        let model = HttpModel::with_timeouts(config(&server, wire, name), impatient()).unwrap();
        (server, model)
    })
}

#[tokio::test]
async fn cancels_in_the_middle_of_an_answer() {
    for (server, model) in each_with_thread(&Scenario::text("I was going to").fault(AnswerFault::Hang)) {
        let cancel = CancellationToken::new();
        let mut stream = model.stream(cancel.clone(), request(vec![user("hi")])).await.unwrap();
        assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Text(_)))));
        cancel.cancel();
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Cancelled);
        // The stream still exists, so that the cancellation ends the request and not the drop.
        let gone = tokio::task::spawn_blocking(move || (server.wait_for_disconnect(PATIENCE), server))
            .await
            .unwrap();
        assert!(gone.0, "the server saw the client go");
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test]
async fn cancels_while_waiting_for_the_first_byte() {
    for (server, model) in each_with_thread(&Scenario::new().fault(AnswerFault::Silent)) {
        let cancel = CancellationToken::new();
        let mut stream = model.stream(cancel.clone(), request(vec![user("hi")])).await.unwrap();
        let (item, server) = tokio::join!(stream.next(), async {
            let asked = move || (server.wait_for_requests(1, PATIENCE), server);
            let (asked, server) = tokio::task::spawn_blocking(asked).await.unwrap();
            assert!(asked);
            cancel.cancel();
            server
        });
        assert_eq!(item.unwrap().unwrap_err().kind, ModelErrorKind::Cancelled);
        let gone = tokio::task::spawn_blocking(move || server.wait_for_disconnect(PATIENCE)).await.unwrap();
        assert!(gone, "the server saw the client go");
    }
}

#[tokio::test]
async fn cancels_before_sending() {
    for (server, model) in each_with_thread(&Scenario::text("never asked for")) {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let mut stream = model.stream(cancel, request(vec![user("hi")])).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap_err().kind, ModelErrorKind::Cancelled);
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    for (server, model) in each_with_thread(&Scenario::text("I was going to").fault(AnswerFault::Hang)) {
        let mut stream = start(&model, vec![user("hi")]).await;
        assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Text(_)))));
        drop(stream);
        let gone = tokio::task::spawn_blocking(move || server.wait_for_disconnect(PATIENCE)).await.unwrap();
        assert!(gone, "the server saw the client go");
    }
}
