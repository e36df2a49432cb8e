//! Tests of `models.json`: additional models, overrides, and errors.

use std::collections::HashMap;

use haft_core::model::{Model, ThinkingLevel};
use haft_providers::{
    KeyRedactor, ModelChoice, ModelsError, ModelsFile, choose_model, key_location, known_keys,
};
use haft_test_support::model_server::{ModelServer, Scenario, TokenCounts, WireFormat};
use serde_json::{Value, json};

use crate::choosing::{Stage, preference, told};
use crate::support::{ask, gather, request, user};

fn models(providers: Value) -> ModelsFile {
    load(&json!({ "providers": providers }).to_string()).unwrap()
}

fn load(text: &str) -> Result<ModelsFile, ModelsError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("models.json");
    std::fs::write(&path, text).unwrap();
    ModelsFile::load(&path)
}

fn lab() -> Value {
    json!({"base_url": "http://lab:1/v1", "models": {"small": {}, "big": {"window": 9}}})
}

#[track_caller]
fn check(expect: &str, got: String) {
    assert_eq!(got, expect);
}

async fn line(providers: Value, flags: &[(&str, &str)], stage: &Stage) -> String {
    told(choose_model(preference(flags), &models(providers), stage).await)
}

#[tokio::test]
async fn selects_configured_server_by_provider_model_or_default() {
    let none = Stage::default();
    let with = |key: &str, value: Value| {
        let mut lab = lab();
        lab[key] = value;
        json!({ "lab": lab })
    };
    let lab = || json!({ "lab": lab() });
    check("lab big http://lab:1/v1 - as requested", line(lab(), &[("model", "lab/big")], &none).await);
    let flags = [("provider", "lab"), ("model", "unlisted")];
    check("lab unlisted http://lab:1/v1 - as requested", line(lab(), &flags, &none).await);
    let by_model = line(lab(), &[("model", "big")], &none).await;
    check("lab big http://lab:1/v1 - because models.json configures it", by_model);
    let nothing = line(lab(), &[("provider", "lab")], &none).await;
    check("error: no model selected for lab", nothing);
    let default = line(with("default_model", json!("small")), &[], &none).await;
    check("lab small http://lab:1/v1 - because models.json configures it", default);
    let keyed = || with("key_env", json!("LAB_KEY"));
    let without = line(keyed(), &[("model", "lab/big")], &none).await;
    assert!(without.contains("no API key for lab; set LAB_KEY"), "{without}");
    let stage = Stage { vars: HashMap::from([("LAB_KEY", "k")]), ..Stage::default() };
    check("lab big http://lab:1/v1 k as requested", line(keyed(), &[("model", "lab/big")], &stage).await);
    let unknown = line(lab(), &[("provider", "labb")], &none).await;
    assert!(unknown.contains("unknown provider \"labb\"") && unknown.contains("lab, scripted"), "{unknown}");
}

#[tokio::test]
async fn preset_keeps_values_missing_in_the_file() {
    let providers = json!({"anthropic": {"default_model": "claude-haiku-4-5", "models": {"claude-new": {}}}});
    let stage = Stage { vars: HashMap::from([("ANTHROPIC_API_KEY", "k")]), ..Stage::default() };
    let because = "k because ANTHROPIC_API_KEY is set";
    check(&format!("anthropic claude-haiku-4-5 - {because}"), line(providers.clone(), &[], &stage).await);
    let new = line(providers, &[("model", "claude-new")], &stage).await;
    check(&format!("anthropic claude-new - {because}"), new);
    let moved = json!({"anthropic": {"base_url": "http://gateway", "key_env": "GATEWAY"}});
    let stage =
        Stage { vars: HashMap::from([("GATEWAY", "g"), ("ANTHROPIC_API_KEY", "k")]), ..Stage::default() };
    let moved = line(moved, &[("provider", "anthropic")], &stage).await;
    check("anthropic claude-sonnet-5-5 http://gateway g as requested", moved);
}

#[tokio::test]
async fn environment_key_overrides_stored_key() {
    let stored = HashMap::from([("openai", "stored"), ("lab", "labs")]);
    let stage = Stage { stored: stored.clone(), ..Stage::default() };
    check("openai gpt-5.6 - stored because a key is stored for openai", line(json!({}), &[], &stage).await);
    let chat = line(json!({}), &[("provider", "openai-chat")], &stage).await;
    check("openai-chat gpt-5.6 - stored as requested", chat);
    let lab = line(json!({"lab": lab()}), &[("model", "lab/big")], &stage).await;
    check("lab big http://lab:1/v1 labs as requested", lab);
    let vars = HashMap::from([("OPENAI_API_KEY", "env")]);
    let stage = Stage { stored, vars, ..Stage::default() };
    check("openai gpt-5.6 - env because OPENAI_API_KEY is set", line(json!({}), &[], &stage).await);
}

/// Storing and looking up a key use the same rule.
#[tokio::test]
async fn finds_stored_key() {
    let moved = json!({"openai-chat": {"base_url": "http://gateway"}});
    let renamed = json!({"openai-chat": {"key_env": "OTHER"}});
    let same = json!({"openai-chat": {"key_env": "OPENAI_API_KEY"}});
    let gateway =
        json!({"lab": {"base_url": "http://lab:1/v1", "key_env": "OPENAI_API_KEY", "models": {"m": {}}}});
    let lender = json!({"openai": {"base_url": "http://gateway"}});
    for (providers, provider, stored_as, variable) in [
        (lender, "openai-chat", "openai-chat", Some("OPENAI_API_KEY")),
        (json!({}), "openai-chat", "openai", Some("OPENAI_API_KEY")),
        (moved, "openai-chat", "openai-chat", Some("OPENAI_API_KEY")),
        (renamed, "openai-chat", "openai", Some("OTHER")),
        (same, "openai-chat", "openai", Some("OPENAI_API_KEY")),
        (gateway, "lab", "lab", Some("OPENAI_API_KEY")),
        (json!({"lab": lab()}), "lab", "lab", None),
        (json!({}), "ollama", "ollama", Some("OLLAMA_API_KEY")),
    ] {
        let home = key_location(provider, &models(providers.clone())).unwrap();
        assert_eq!((home.stored_as.as_str(), home.variable.as_deref()), (stored_as, variable), "{providers}");
        let flags = [("provider", provider), ("model", "m")];
        for (stored, is_sent) in [(stored_as, true), ("openai", stored_as == "openai")] {
            let stage = Stage { stored: HashMap::from([(stored, "k-1")]), ..Stage::default() };
            let got = line(providers.clone(), &flags, &stage).await;
            assert_eq!(got.contains("k-1"), is_sent, "{stored} of {providers}: {got}");
        }
    }
    assert_eq!(key_location("nobody", &ModelsFile::default()), None);
}

#[tokio::test]
async fn expands_variables_in_headers_and_reports_missing_ones() {
    let server = ModelServer::start(WireFormat::Anthropic, vec![Scenario::text("hi")]).await;
    let providers = json!({"gate": {"dialect": "anthropic", "base_url": server.base_url(),
        "headers": {"x-team": "blue-$TEAM", "authorization": "Bearer ${TOKEN}"}, "models": {"m": {}}}});
    let error = line(providers.clone(), &[("provider", "gate")], &Stage::default()).await;
    let missing = ["TEAM", "TOKEN"]
        .iter()
        .any(|name| error.contains(&format!("the environment variable {name} is not set")));
    assert!(
        error.contains("models.json: cannot build the header") && error.contains("of gate") && missing,
        "{error}"
    );
    let vars = HashMap::from([("TEAM", "7"), ("TOKEN", "t0ken-secret")]);
    let stage = Stage { vars, ..Stage::default() };
    let chosen = choose_model(preference(&[]), &models(providers), &stage).await.unwrap();
    assert!(!format!("{chosen:?}").contains("t0ken"), "{chosen:?}");
    let model = chosen.choice.open().unwrap();
    ask(&*model, "hello").await.1.unwrap();
    let sent = &server.requests()[0];
    assert_eq!((sent.path.as_str(), sent.header("x-team")), ("/v1/messages", Some("blue-7")));
    assert_eq!(sent.header("authorization"), Some("Bearer t0ken-secret"));
}

#[tokio::test]
async fn facts_prices_and_levels_come_from_the_file() {
    let tokens = TokenCounts { input: 1_000_000, output: 1_000_000, cache_read: 0, cache_write: 0 };
    let server = ModelServer::start(WireFormat::OpenAiChat, vec![Scenario::text("hi").usage(tokens)]).await;
    let model = json!({"window": 32_768, "max_output": 4_096, "thinking": ["off", "high"],
        "prices": {"input": 0.5, "output": 1.5}});
    let providers = json!({"lab": {"base_url": server.base_url(), "models": {"m": model}}});
    let chosen = choose_model(preference(&[]), &models(providers), &Stage::default()).await.unwrap();
    let ModelChoice::Http(config) = &chosen.choice else { panic!("{chosen:?}") };
    assert_eq!((config.facts.window, config.facts.max_output), (Some(32_768), Some(4_096)));
    let model = chosen.choice.open().unwrap();
    assert_eq!(model.facts().window, Some(32_768));
    let mut request = request(vec![user("hi")]);
    request.thinking = ThinkingLevel::Medium;
    let answer =
        gather(model.stream(tokio_util::sync::CancellationToken::new(), request).await.unwrap()).await;
    assert!((answer.1.unwrap().usage.cost_usd - 2.0).abs() < 1e-9);
    assert_eq!(server.requests()[0].body["reasoning_effort"], json!("high"), "there is no medium");
}

#[test]
fn error_names_file_model_and_field() {
    let error = load(r#"{"providers": {"lab": {"base_url": "http://x", "models": {"m": {"window": 0}}}}}"#);
    let error = error.unwrap_err().to_string();
    assert!(
        error.ends_with("models.json: providers.lab.models.m.window: must be at least 1 token"),
        "{error}"
    );
    let error = load("{").unwrap_err().to_string();
    assert!(error.contains("models.json is not valid JSON") && error.contains("line 1"), "{error}");
    assert_eq!(
        ModelsFile::load(std::path::Path::new("/no/such/models.json")).unwrap(),
        ModelsFile::default()
    );
}

#[test]
fn lists_configured_models_with_catalog_facts() {
    let providers = json!({"anthropic": {"models": {"claude-haiku-4-5": {"window": 5}}}, "lab": lab()});
    let models = models(providers);
    let listed: Vec<_> = models.models().collect();
    let names: Vec<String> = listed.iter().map(|own| format!("{}/{}", own.provider, own.model)).collect();
    assert_eq!(names, ["anthropic/claude-haiku-4-5", "lab/big", "lab/small"]);
    assert_eq!((listed[0].facts.window, listed[0].facts.max_output), (Some(5), Some(64_000)));
    assert_eq!(models.custom_providers().collect::<Vec<_>>(), ["lab"]);
}

#[tokio::test]
async fn stored_key_is_sent_only_to_the_presets_server() {
    let stored = HashMap::from([("openai", "stored")]);
    let stage = Stage { stored, ..Stage::default() };
    let lab = json!({"base_url": "http://lab:1/v1", "key_env": "OPENAI_API_KEY", "models": {"m": {}}});
    let own = line(json!({"lab": lab}), &[("provider", "lab")], &stage).await;
    assert!(own.contains("no API key for lab; set OPENAI_API_KEY"), "{own}");
    let moved = json!({"openai-chat": {"base_url": "http://lab:1/v1", "key_env": "OPENAI_API_KEY"}});
    let moved = line(moved, &[("provider", "openai-chat")], &stage).await;
    assert!(moved.contains("no API key for openai-chat"), "{moved}");
    let renamed = json!({"openai-chat": {"key_env": "OTHER"}});
    let renamed = line(renamed, &[("provider", "openai-chat")], &stage).await;
    check("openai-chat gpt-5.6 - stored as requested", renamed);
}

#[tokio::test]
async fn local_server_with_described_models_lists_its_models() {
    let servers = || HashMap::from([(11434, vec!["qwen3", "other"])]);
    let stage = Stage { servers: servers(), ..Stage::default() };
    let flags = [("provider", "ollama")];
    let one = json!({"ollama": {"models": {"mine": {"window": 32_768}}}});
    check("ollama mine - - as requested", line(one, &flags, &stage).await);
    let two = json!({"ollama": {"models": {"mine": {"window": 32_768}, "further": {}}}});
    check("ollama qwen3 - - as requested", line(two, &flags, &stage).await);
}

#[test]
fn headers_with_secrets_are_keys_and_their_variables_stay_out_of_commands() {
    let headers = json!({
        "Authorization": "Bearer $LAB_LOGIN", "x-api-key": "literal-${LAB_PART}$$", "x-session-token": "$UNSET",
        "Cookie": "sid=$LAB_SID; theme=dark", "x-author": "somebody-else", "x-team": "$LAB_TEAM"
    });
    let models = models(json!({"lab": {"base_url": "http://lab:1/v1", "headers": headers}}));
    let mut variables: Vec<_> = models.key_variables().collect();
    variables.sort_unstable();
    assert_eq!(variables, ["LAB_LOGIN", "LAB_PART", "LAB_SID", "UNSET"]);
    let vars = HashMap::from([
        ("LAB_LOGIN", "login-123"),
        ("LAB_PART", "part-123"),
        ("LAB_SID", "session-4711"),
        ("LAB_TEAM", "team-12345"),
    ]);
    let keys = known_keys(&models, &Stage { vars, ..Stage::default() });
    let redactor = KeyRedactor::new(&keys);
    let text = "login-123 literal-part-123$ session-4711 team-12345 somebody-else";
    let shown = redactor.redact(text).unwrap();
    assert!(shown.contains("team-12345") && shown.contains("somebody-else"), "{shown}");
    let secrets = ["login-123", "part-123", "session-4711"];
    assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
}
