//! Tests that keys stay out of errors, debug output and events.

use std::io::Write;
use std::sync::{Arc, Mutex};

use haft_core::model::ModelEvent;
use haft_providers::{ApiDialect, ConfigError, HttpModel, ModelConfig};
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};

use crate::support::{DIALECTS, KEY, NATIVE, ask, config, impatient};

const TOKEN: &str = "proxy-token-987";

#[tokio::test]
async fn redacts_key_echoed_by_the_server() {
    for (wire, name) in DIALECTS.into_iter().chain(NATIVE) {
        for status in [401, 400, 500] {
            let message = format!("Incorrect API key provided: {{key}}, or {TOKEN}");
            let scenario = Scenario::status(status, "some_error", &message);
            let server = ModelServer::start(wire, vec![scenario; 4]).await;
            let mut config = config(&server, wire, name);
            config.headers.push(("proxy-authorization".into(), format!("Bearer {TOKEN}")));
            let model = HttpModel::with_timeouts(config, impatient()).unwrap();
            let (events, answer) = ask(&model, "hello").await;
            let error = answer.unwrap_err();
            assert!(error.message.contains("Incorrect API key provided: [redacted]"), "{error}");
            let said = format!("{error} {error:?} {events:?}");
            assert!(!said.contains(KEY) && !said.contains(TOKEN), "{said}");
            let retry = events.iter().any(|event| matches!(event, ModelEvent::Retry { .. }));
            assert_eq!(retry, status == 500, "{events:?}");
            let sent = &server.requests()[0];
            let keys = ["x-api-key", "x-goog-api-key", "authorization"];
            let key = keys.iter().find_map(|name| sent.header(name)).unwrap();
            assert!(key.contains(KEY), "the key really was sent");
            assert_eq!(sent.header("proxy-authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        }
    }
}

#[tokio::test]
async fn debug_output_has_no_secret() {
    for (wire, name) in DIALECTS.into_iter().chain(NATIVE) {
        let server = ModelServer::start(wire, Vec::new()).await;
        let mut config = config(&server, wire, name);
        config.headers.push(("x-token".into(), TOKEN.into()));
        config.base_url = Some(server.base_url().replace("http://", "http://me:hunter2@"));
        let shown = format!("{config:?} {:?}", HttpModel::new(config.clone()).unwrap());
        for secret in [KEY, TOKEN, "hunter2"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}

#[test]
fn does_not_show_unsendable_key() {
    let mut config = ModelConfig::new(ApiDialect::OpenAiChat, "openai-chat", "gpt-4.1");
    config.api_key = Some("sk-secret\n".into());
    let error = HttpModel::new(config).unwrap_err();
    assert_eq!(error, ConfigError::Key { provider: "openai-chat".into() });
    assert!(!format!("{error} {error:?}").contains("sk-secret"));
}

/// All log output, including that of libraries.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn sends_password_of_address_unless_a_key_exists() {
    for (wire, name) in DIALECTS {
        for key in [true, false] {
            let server = ModelServer::start(wire, vec![Scenario::text("hi")]).await;
            let mut config = config(&server, wire, name);
            config.api_key = config.api_key.filter(|_| key);
            config.base_url = Some(server.base_url().replace("http://", "http://me:hunter2@"));
            ask(&HttpModel::new(config).unwrap(), "hello").await.1.unwrap();
            let basic = Some("Basic bWU6aHVudGVyMg==".to_owned());
            let bearer = Some(format!("Bearer {KEY}"));
            let expect = if key && wire != WireFormat::Anthropic { bearer } else { basic };
            let sent = server.requests()[0].header("authorization").map(str::to_owned);
            assert_eq!(sent, expect, "{wire:?} {key}");
        }
    }
}

#[tokio::test]
async fn logs_contain_no_secret_at_any_level() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // Set for all threads: tracing caches for each call site whether a subscriber is interested, and the first thread
    // to log may belong to another test.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    for (wire, name) in DIALECTS.into_iter().chain(NATIVE) {
        let echo = format!("no: {{key}} {TOKEN}");
        let scenarios = vec![Scenario::status(500, "server_error", &echo), Scenario::text("hi")];
        let server = ModelServer::start(wire, scenarios).await;
        let mut config = config(&server, wire, name);
        config.headers.push(("x-token".into(), TOKEN.into()));
        config.base_url = Some(server.base_url().replace("http://", "http://me:hunter2@"));
        ask(&HttpModel::with_timeouts(config, impatient()).unwrap(), "hello").await.1.unwrap();
    }
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("retrying"), "{logged}");
    for secret in [KEY, TOKEN, "hunter2"] {
        let line = logged.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}
