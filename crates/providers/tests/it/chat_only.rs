//! Servers of the user that have Chat Completions and not the Responses API, under the provider `openai`.

use haft_core::model::ModelErrorKind;
use haft_providers::{ApiDialect, HttpModel, ModelConfig};
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};

use crate::support::{KEY, ask, impatient};

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";

/// Returns a model of this provider at the server.
fn model(server: &ModelServer, provider: &str) -> HttpModel {
    let mut config = ModelConfig::new(ApiDialect::OpenAiResponses, provider, "m");
    config.base_url = Some(server.base_url());
    config.api_key = Some(KEY.into());
    HttpModel::with_timeouts(config, impatient()).unwrap()
}

fn paths(server: &ModelServer) -> Vec<String> {
    server.requests().into_iter().map(|request| request.path).collect()
}

async fn answer(model: &HttpModel) -> String {
    let response = ask(model, "hello").await.1.unwrap();
    haft_protocol::message::text_of(&response.content)
}

#[tokio::test]
async fn server_is_asked_with_chat_completions_from_then_on() {
    let answers = ["One.", "Two.", "Three."].map(Scenario::text);
    let server = ModelServer::start(WireFormat::OpenAiChat, answers.into()).await;
    let first = model(&server, "openai");
    assert_eq!(answer(&first).await, "One.");
    assert_eq!(paths(&server), [RESPONSES, CHAT]);
    assert_eq!(answer(&first).await, "Two.");
    // The next session of the process has another model.
    assert_eq!(answer(&model(&server, "openai")).await, "Three.");
    assert_eq!(paths(&server), [RESPONSES, CHAT, CHAT, CHAT]);
    let keys = server.requests().iter().all(|request| request.header("authorization").is_some());
    assert!(keys, "each request has the key");
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn other_failures_do_not_change_the_api() {
    // The server has the path, but not the model.
    let missing = Scenario::status(404, "model_not_found", "no such model");
    let broken = Scenario::status(400, "invalid_request_error", "no");
    let server = ModelServer::start(WireFormat::OpenAiResponses, vec![missing, broken]).await;
    let model_here = model(&server, "openai");
    for says in ["404 model_not_found: no such model", "400 invalid_request_error: no"] {
        let error = ask(&model_here, "hello").await.1.unwrap_err();
        assert!(error.kind == ModelErrorKind::Rejected && error.message.contains(says), "{error}");
    }
    assert_eq!(paths(&server), [RESPONSES, RESPONSES]);
}

#[tokio::test]
async fn failure_of_both_apis_is_not_remembered() {
    let gone = || Scenario::status(405, "", "Method Not Allowed");
    let server = ModelServer::start(WireFormat::OpenAiResponses, vec![gone(), Scenario::text("Back.")]).await;
    let model = model(&server, "openai");
    let error = ask(&model, "hello").await.1.unwrap_err();
    assert!(error.message.starts_with("openai has no such model or path (404"), "{error}");
    assert_eq!(answer(&model).await, "Back.");
    assert_eq!(paths(&server), [RESPONSES, CHAT, RESPONSES]);
}

#[tokio::test]
async fn provider_of_the_user_keeps_its_api() {
    let server = ModelServer::start(WireFormat::OpenAiChat, vec![Scenario::text("One.")]).await;
    let error = ask(&model(&server, "mine"), "hello").await.1.unwrap_err();
    assert!(error.message.contains("404"), "{error}");
    assert_eq!(paths(&server), [RESPONSES]);
}
