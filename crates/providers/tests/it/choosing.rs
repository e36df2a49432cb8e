//! Tests of the selection of a model with a simulated environment.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use haft_providers::{
    ApiDialect, ChoiceReason, ChooseError, ChosenModel, EnvironmentProbe, HttpTimeouts, ModelChoice,
    ModelConfig, ModelPreference, ModelsFile, SystemProbe, choose_model, local_servers, model_catalog,
    split_provider,
};
use haft_test_support::model_server::{ModelServer, WireFormat};
use secrecy::{ExposeSecret, SecretString};

/// A simulated environment: variables, and the models of local servers.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) vars: HashMap<&'static str, &'static str>,
    pub(crate) stored: HashMap<&'static str, &'static str>,
    pub(crate) servers: HashMap<u16, Vec<&'static str>>,
    pub(crate) keys_sent: Mutex<Vec<Option<String>>>,
}

#[async_trait]
impl EnvironmentProbe for Stage {
    fn var(&self, name: &str) -> Option<String> {
        self.vars.get(name).map(|value| (*value).to_owned())
    }

    fn key(&self, provider: &str) -> Option<SecretString> {
        self.stored.get(provider).map(|key| SecretString::from(*key))
    }

    async fn is_listening(&self, port: u16) -> bool {
        self.servers.contains_key(&port)
    }

    async fn list_models(&self, server: &ModelConfig) -> Vec<String> {
        let key = server.api_key.as_ref();
        self.keys_sent.lock().unwrap().push(key.map(|key| key.expose_secret().to_owned()));
        let base_url = server.base_url.as_deref().unwrap();
        let server = self.servers.iter().find(|(port, _)| base_url.contains(&format!(":{port}")));
        server.map(|(_, models)| models.iter().map(|model| (*model).to_owned()).collect()).unwrap_or_default()
    }
}

pub(crate) fn preference(flags: &[(&str, &str)]) -> ModelPreference {
    let flag = |name: &str| flags.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let mut preference = ModelPreference::default();
    preference.provider = flag("provider");
    preference.model = flag("model");
    preference.api_key = flag("key").map(SecretString::from);
    preference.base_url = flag("url");
    preference
}

/// Returns a selection as one line: provider, model, address, key, reason.
async fn line(
    flags: &[(&str, &str)],
    vars: &[(&'static str, &'static str)],
    ports: &[(u16, &[&'static str])],
) -> String {
    let servers = ports.iter().map(|(port, models)| (*port, models.to_vec())).collect();
    let stage = Stage { vars: vars.iter().copied().collect(), servers, ..Stage::default() };
    told(choose_model(preference(flags), &ModelsFile::default(), &stage).await)
}

/// Returns a selection as one line.
pub(crate) fn told(chosen: Result<ChosenModel, ChooseError>) -> String {
    match chosen {
        Err(error) => format!("error: {error}"),
        Ok(chosen) => match chosen.choice {
            ModelChoice::Scripted(path) => format!("script {}", path.display()),
            ModelChoice::Http(config) => {
                let url = config.base_url.as_deref().unwrap_or("-");
                let key = config.api_key.as_ref().map_or("-", |key| key.expose_secret());
                format!("{} {} {url} {key} {}", config.provider, config.model, chosen.because)
            }
        },
    }
}

macro_rules! check {
    ($flags:expr, $vars:expr, $ports:expr, $expect:expr) => {
        assert_eq!(line(&$flags, &$vars, &$ports).await, $expect)
    };
}

const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", " a-key\n");
const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "o-key");

#[tokio::test]
async fn flags_take_precedence() {
    let local: [(u16, &[&str]); 1] = [(11434, &["qwen3"])];
    check!(
        [("provider", "openai"), ("key", "mine")],
        [ANTHROPIC, OPENAI],
        local,
        "openai gpt-5.6 - mine as requested"
    );
    check!([("provider", "openai")], [ANTHROPIC, OPENAI], local, "openai gpt-5.6 - o-key as requested");
    check!(
        [("provider", "anthropic"), ("model", "m")],
        [ANTHROPIC],
        local,
        "anthropic m - a-key as requested"
    );
    check!([("model", "openai-chat/gpt-4.1")], [OPENAI], [], "openai-chat gpt-4.1 - o-key as requested");
    check!([("provider", "ollama")], [ANTHROPIC], local, "ollama qwen3 - - as requested");
    check!([("provider", "scripted"), ("model", "a.json")], [ANTHROPIC], [], "script a.json");
    check!([("model", "scripted/dir/a.json")], [], [], "script dir/a.json");
}

#[tokio::test]
async fn environment_comes_after_flags() {
    check!([], [OPENAI], [], "openai gpt-5.6 - o-key because OPENAI_API_KEY is set");
    check!(
        [],
        [ANTHROPIC, OPENAI],
        [],
        "anthropic claude-sonnet-5-5 - a-key because ANTHROPIC_API_KEY is set"
    );
    check!(
        [("model", "gpt-4.1")],
        [ANTHROPIC, OPENAI],
        [],
        "openai gpt-4.1 - o-key because OPENAI_API_KEY is set"
    );
    check!(
        [("model", "brand-new")],
        [ANTHROPIC, OPENAI],
        [],
        "anthropic brand-new - a-key because ANTHROPIC_API_KEY is set"
    );
    check!(
        [],
        [OPENAI, ("OPENAI_BASE_URL", "http://proxy/v1")],
        [],
        "openai gpt-5.6 http://proxy/v1 o-key because OPENAI_API_KEY is set"
    );
    check!(
        [],
        [("ANTHROPIC_API_KEY", "  "), OPENAI],
        [],
        "openai gpt-5.6 - o-key because OPENAI_API_KEY is set"
    );
}

#[tokio::test]
async fn local_server_comes_after_the_environment() {
    let two: [(u16, &[&str]); 2] = [(8000, &["big"]), (1234, &["small", "tiny"])];
    check!([], [], two, "vllm big - - because a server listens on port 8000");
    check!([("model", "tiny")], [], two, "lmstudio tiny - - because a server listens on port 1234");
    check!([("model", "other")], [], two, "vllm other - - because a server listens on port 8000");
    // A program that is not a model server listens on a port of model servers.
    check!(
        [],
        [],
        [(8080, &[]), (11434, &["qwen3"])],
        "ollama qwen3 - - because a server listens on port 11434"
    );
}

#[tokio::test]
async fn uses_configured_address_of_local_server() {
    let moved = ("OLLAMA_BASE_URL", "http://127.0.0.1:18433");
    let there: [(u16, &[&str]); 1] = [(18433, &["qwen3"])];
    let expect = "ollama qwen3 http://127.0.0.1:18433 - because a server answers at http://127.0.0.1:18433/";
    check!([], [moved], there, expect);
    // Another server listens on the default port.
    let both: [(u16, &[&str]); 2] = [(11434, &["other"]), (18433, &["qwen3"])];
    check!([], [moved], both, expect);
    let nothing = format!("error: {}", ChooseError::Nothing);
    check!([], [moved], [(11434, &["other"] as &[_])], nothing);
}

#[tokio::test]
async fn address_alone_is_a_compatible_server_without_key() {
    let there: [(u16, &[&str]); 1] = [(9999, &["m1"])];
    let url = ("url", "http://h:9999/v1");
    check!([url], [ANTHROPIC, OPENAI], there, "compatible m1 http://h:9999/v1 - as requested");
    check!(
        [url, ("model", "m2")],
        [("HAFT_API_KEY", "h")],
        [],
        "compatible m2 http://h:9999/v1 h as requested"
    );
    check!(
        [url, ("provider", "mine"), ("model", "m")],
        [OPENAI],
        [],
        "mine m http://h:9999/v1 - as requested"
    );
    check!(
        [url, ("provider", "anthropic"), ("model", "m")],
        [ANTHROPIC],
        [],
        "anthropic m http://h:9999/v1 a-key as requested"
    );
}

#[tokio::test]
async fn key_alone_needs_a_provider() {
    check!([("key", "k"), ("model", "gpt-4.1")], [], [], "openai gpt-4.1 - k as requested");
    check!([("key", "k")], [ANTHROPIC], [], "error: an API key needs its provider");
}

#[tokio::test]
async fn errors_contain_the_next_step() {
    check!([("provider", "anthropic")], [], [], "error: no API key for anthropic; set ANTHROPIC_API_KEY");
    check!(
        [("provider", "ollama")],
        [],
        [],
        "error: no model available at http://127.0.0.1:11434/; start the server, load a model, or check the \
         address"
    );
    check!([], [("GROQ_API_KEY", "g")], [], "error: no model selected for groq");
    check!([("provider", "compatible")], [], [], "error: no server address for compatible; set it");
    check!(
        [("provider", "scripted")],
        [],
        [],
        "error: the scripted provider needs the path of a script as its model"
    );
    let unknown = line(&[("provider", "claude")], &[], &[]).await;
    assert!(
        unknown.starts_with(r#"error: unknown provider "claude"; choose one of anthropic, openai"#),
        "{unknown}"
    );
    let nothing = ChooseError::Nothing.to_string();
    check!([], [], [], format!("error: {nothing}"));
    for way in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "local server"] {
        assert!(nothing.contains(way), "{way} is not in {nothing}");
    }
}

#[tokio::test]
async fn probing_local_servers_sends_no_key() {
    let vars = HashMap::from([("OLLAMA_API_KEY", "secret")]);
    let stage = Stage { vars, servers: HashMap::from([(11434, vec!["qwen3"])]), ..Stage::default() };
    let found = local_servers(&ModelsFile::default(), &stage).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].preset.name, found[0].models.as_slice()),
        ("ollama", ["qwen3".to_owned()].as_slice())
    );
    assert_eq!(*stage.keys_sent.lock().unwrap(), [None]);
}

#[tokio::test]
async fn choice_opens_its_model() {
    let stage = Stage { vars: HashMap::from([OPENAI]), ..Stage::default() };
    let chosen = choose_model(preference(&[]), &ModelsFile::default(), &stage).await.unwrap();
    let model = chosen.choice.open().unwrap();
    let info = model.info();
    assert_eq!((info.provider.as_str(), info.model.as_str()), ("openai", "gpt-5.6"));
    assert_eq!(model.facts().window, Some(1_050_000));
    let chosen =
        choose_model(preference(&[("model", "scripted//nonexistent.json")]), &ModelsFile::default(), &stage)
            .await
            .unwrap();
    let error = chosen.choice.open().err().unwrap();
    assert_eq!(error.to_string(), "cannot read the script /nonexistent.json");
}

#[test]
fn debug_output_of_preference_has_no_secret() {
    let mut preference = preference(&[("key", "sk-123456"), ("url", "http://me:hunter2@host")]);
    preference.headers.push(("x-token".into(), "t0ken".into()));
    let shown = format!("{preference:?}");
    assert!(["sk-123456", "hunter2", "t0ken"].iter().all(|secret| !shown.contains(secret)), "{shown}");
}

#[tokio::test]
async fn system_probe_detects_a_server() {
    let server = ModelServer::start(WireFormat::OpenAiChat, Vec::new()).await;
    let machine = SystemProbe::default();
    assert!(machine.is_listening(server.port()).await);
    let at = |base_url: String| {
        let mut config = ModelConfig::new(ApiDialect::OpenAiChat, "x", "");
        config.base_url = Some(base_url);
        config
    };
    assert_eq!(machine.list_models(&at(server.base_url())).await, ["local-model"]);
    assert_eq!(machine.list_models(&at(server.base_url().replace("/v1", ""))).await, ["local-model"]);
    let mut preference = ModelPreference::default();
    preference.base_url = Some(server.base_url());
    let chosen = choose_model(preference, &ModelsFile::default(), &machine).await.unwrap();
    let ModelChoice::Http(config) = chosen.choice else { panic!("{chosen:?}") };
    assert_eq!((config.dialect, config.model.as_str()), (ApiDialect::OpenAiChat, "local-model"));
    assert_eq!(chosen.because, ChoiceReason::Asked);
}

#[tokio::test]
async fn model_list_request_uses_key_and_headers() {
    for (wire, dialect, path, key) in [
        (WireFormat::Anthropic, ApiDialect::AnthropicMessages, "/v1/models?limit=1000", ("x-api-key", "k")),
        (WireFormat::OpenAiChat, ApiDialect::OpenAiChat, "/v1/models", ("authorization", "Bearer k")),
        (WireFormat::Gemini, ApiDialect::Gemini, "/v1beta/models?pageSize=1000", ("x-goog-api-key", "k")),
        (WireFormat::Ollama, ApiDialect::Ollama, "/api/tags", ("authorization", "Bearer k")),
    ] {
        let server = ModelServer::start(wire, Vec::new()).await;
        let mut config = ModelConfig::new(dialect, "gate", "");
        config.base_url = Some(server.base_url());
        config.api_key = Some("k".into());
        config.headers = vec![("x-team".into(), "blue".into())];
        assert_eq!(SystemProbe::default().list_models(&config).await, ["local-model"], "{dialect:?}");
        let asked = &server.get_requests()[0];
        assert_eq!((asked.path.as_str(), asked.header(key.0)), (path, Some(key.1)));
        assert_eq!(asked.header("x-team"), Some("blue"));
    }
}

#[test]
fn splits_model_name_of_known_provider() {
    let (listed, whole) = (ModelsFile::default(), model_catalog());
    let apart = |model: &str, beside| split_provider(model, beside, &listed);
    let two = |provider: &str, id: &str| Some((provider.to_owned(), id.to_owned()));
    assert_eq!(apart("openrouter/anthropic/x", None), two("openrouter", "anthropic/x"));
    assert_eq!(apart("scripted//a.json", None), two("scripted", "/a.json"));
    assert_eq!(apart("openai/m", Some("openai")), two("openai", "m"));
    for (model, beside) in [
        ("qwen/qwen3", None),
        ("openai/", None),
        ("plain", None),
        ("anthropic/x", Some("openrouter")),
        ("scripted/a.json", Some("scripted")),
        ("mine/x", Some("mine")),
    ] {
        assert_eq!(apart(model, beside), None, "{model} beside {beside:?}");
    }
    // A prefix that is part of the model's id stays there.
    let own = whole.iter().find(|known| known.model.starts_with(&format!("{}/", known.provider)));
    let own = own.expect("openrouter has models of its own");
    assert_eq!(apart(&own.model, Some(own.provider)), None);
}

/// Starts a server with an endless list of models; returns the number of bytes that it sent.
fn endless() -> (String, std::thread::JoinHandle<usize>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let listing = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"data\":[";
        let mut sent = stream.write(head.as_bytes()).unwrap();
        while let Ok(more @ 1..) = stream.write(&[b' '; 64 * 1024]) {
            sent += more;
        }
        sent
    });
    (address, listing)
}

#[tokio::test]
async fn ignores_endless_list() {
    let (address, listing) = endless();
    let mut timeouts = HttpTimeouts::default();
    timeouts.probe_models = Duration::from_secs(60);
    let mut server = ModelConfig::new(ApiDialect::OpenAiChat, "x", "");
    server.base_url = Some(address);
    assert_eq!(SystemProbe::with_timeouts(timeouts).list_models(&server).await, Vec::<String>::new());
    let sent = tokio::task::spawn_blocking(|| listing.join().unwrap()).await.unwrap();
    assert!(sent < 32 * 1024 * 1024, "{sent} bytes were taken");
}

#[tokio::test]
async fn hides_password_in_address() {
    for address in ["http://me:hunter2@host:1/v1", "http://hunter2@host:1/v1", "me:hunter2@host:port"] {
        let told = line(&[("url", address)], &[], &[]).await;
        assert!(told.contains("no model available") && !told.contains("hunter2"), "{told}");
    }
}

#[tokio::test]
async fn misspelled_provider_is_not_a_server_of_that_name() {
    let address = ("url", "http://127.0.0.1:9/v1");
    for (name, nearest) in [
        ("antropic", "anthropic"),
        ("Anthropic", "anthropic"),
        ("opnai", "openai"),
        ("oepnai", "openai"),
        ("open-router", "openrouter"),
        ("lm-studio", "lmstudio"),
    ] {
        for more in [&[][..], &[address]] {
            let given = [&[("provider", name), ("model", "m")], more].concat();
            let told = line(&given, &[], &[]).await;
            let expect =
                format!("error: unknown provider {name:?}; did you mean {nearest}? To use this name");
            assert!(told.starts_with(&expect), "{told}");
        }
    }
    // These names may be intended.
    for name in ["openai-eu", "openai2", "grok", "llm", "local", "work"] {
        let told = line(&[("provider", name), ("model", "m"), address], &[], &[]).await;
        assert!(!told.starts_with("error"), "{told}");
    }
}
