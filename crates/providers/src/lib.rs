//! Models behind `haft_core::model::Model`: HTTP APIs, and a scripted model that needs no network.
//!
//! ```
//! use haft_core::Agent;
//! use haft_providers::ScriptedModel;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::from_json(r#"{"steps": [{"say": [{"text": "It is sunny."}]}]}"#)?;
//! let agent = Agent::builder(model).build()?;
//! assert_eq!(agent.prompt("How is the weather?").await?, "It is sunny.");
//! # Ok(())
//! # }
//! ```
//!
//! * [`ScriptedModel`]: answers from JSON, for tests and demonstrations;
//! * [`FallbackModel`]: asks another model while the first one is not available;
//! * `HttpModel`, `ModelConfig`, `ApiDialect`: a model behind an API; `HttpTimeouts`: its limits of time;
//! * `choose_model`, `ModelPreference`: the model that the environment offers; `ModelsFile`: `models.json`;
//! * `find_model`, `model_catalog`: windows and prices of known models; `PRESETS`: known providers.
//!
//! Audience: haft's front ends, and programs that embed the agent. Guarantees: an answer ends with the complete
//! response or with an error that names the next step. Temporary failures are retried only before the first piece of an
//! answer. Cancelling ends the request at once. Errors, logs and debug output contain no keys. Nothing is sent, and no
//! certificate is loaded, before the first request. Out of scope: extensions, an async runtime.
//!
//! Of the HTTP library, only its client is part of this crate's interface: see [`HttpModel::with_client_builder`].
//!
//! Each API is a feature: `anthropic`, `openai`, `gemini`, `ollama`; all are on by default. Without any of them, the crate
//! has only [`ScriptedModel`] and [`FallbackModel`], and no HTTP client among its dependencies.
//!
//! ```
//! # #[cfg(feature = "anthropic")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use haft_core::model::Model;
//! use haft_providers::{ApiDialect, HttpModel, ModelConfig};
//!
//! let mut config = ModelConfig::new(ApiDialect::AnthropicMessages, "anthropic", "claude-sonnet-4-6");
//! config.api_key = Some("sk-ant-…".replace('…', "123").into());
//! let model = HttpModel::new(config)?;
//! assert_eq!(model.facts().window, Some(1_000_000));
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "anthropic"))]
//! # fn main() {}
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "anthropic", feature = "openai", feature = "gemini", feature = "ollama")),
    allow(
        dead_code,
        unused_variables,
        reason = "the APIs share code that one of them alone does not need in full"
    )
)]

#[cfg(feature = "http")]
mod catalog;
#[cfg(feature = "http")]
mod choose;
#[cfg(feature = "http")]
mod config;
mod fallback;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod limits;
#[cfg(feature = "http")]
mod models;
#[cfg(feature = "http")]
mod presets;
#[cfg(feature = "http")]
mod redact;
#[cfg(feature = "http")]
pub mod retry;
mod scripted;
mod timeouts;
#[cfg(feature = "http")]
mod wire;

#[cfg(feature = "http")]
pub use catalog::{KnownModel, find_model, model_catalog};
#[cfg(feature = "http")]
pub use choose::{
    ChoiceReason, ChooseError, ChosenModel, EnvironmentProbe, KeyError, KeyLocation, LocalServer,
    ModelChoice, ModelPreference, OpenError, SystemProbe, check_key, choose_model, default_model, is_usable,
    key_location, key_server, known_keys, local_servers, resolve_model, split_provider,
};
#[cfg(feature = "http")]
pub use config::{ApiDialect, ConfigError, ModelConfig};
pub use fallback::FallbackModel;
#[cfg(feature = "http")]
pub use http::{HttpModel, get_page};
#[cfg(feature = "http")]
pub use models::{ConfiguredModel, ModelsError, ModelsFile, UnsetVariable};
#[cfg(feature = "http")]
pub use presets::{PRESETS, ProviderPreset, find_preset};
#[cfg(feature = "http")]
pub use redact::KeyRedactor;
/// The HTTP library, for [`HttpModel::with_client_builder`].
#[cfg(feature = "http")]
pub use reqwest;
pub use scripted::{ScriptError, ScriptedModel};
pub use timeouts::HttpTimeouts;
