//! Models behind `haft_core::model::Model`: HTTP APIs, and a scripted model that needs no network.
//!
//! Audience: haft's front ends, and programs that embed the agent. Guarantees: an answer ends with the complete
//! response or with an error that names the next step. Temporary failures are retried only before the first piece of an
//! answer. Cancelling ends the request at once. Errors, logs and debug output contain no keys. Nothing is sent, and no
//! certificate is loaded, before the first request. Out of scope: extensions, an async runtime.
//!
//! One library implements the HTTP APIs; no public type of this crate exposes it.
//!
//! ```
//! use haft_core::model::Model;
//! use haft_providers::{ApiDialect, HttpModel, ModelConfig, ScriptedModel};
//!
//! // A model behind an API …
//! let mut config = ModelConfig::new(ApiDialect::AnthropicMessages, "anthropic", "claude-sonnet-4-6");
//! config.api_key = Some("sk-ant-…".replace('…', "123").into());
//! let model = HttpModel::new(config)?;
//! assert_eq!(model.facts().window, Some(1_000_000));
//!
//! // … and a scripted model.
//! let script = r#"{"steps": [{"say": [{"text": "It is sunny."}]}]}"#;
//! assert_eq!(ScriptedModel::from_json(script)?.info().provider, "scripted");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod choose;
mod config;
mod fallback;
mod http;
mod limits;
mod models;
mod presets;
mod redact;
pub mod retry;
mod scripted;
mod timeouts;
mod wire;

pub use catalog::{KnownModel, find_model, model_catalog};
pub use choose::{
    ChoiceReason, ChooseError, ChosenModel, EnvironmentProbe, KeyError, KeyLocation, LocalServer,
    ModelChoice, ModelPreference, OpenError, SystemProbe, check_key, choose_model, default_model, is_usable,
    key_location, key_server, known_keys, local_servers, resolve_model, split_provider,
};
pub use config::{ApiDialect, ConfigError, ModelConfig};
pub use fallback::FallbackModel;
pub use http::HttpModel;
pub use models::{ConfiguredModel, ModelsError, ModelsFile, UnsetVariable};
pub use presets::{PRESETS, ProviderPreset, find_preset};
pub use redact::KeyRedactor;
pub use scripted::{ScriptError, ScriptedModel};
pub use timeouts::HttpTimeouts;
