//! Models over HTTP.
mod catalogue;
mod config;
mod http;
mod presets;
mod redact;
pub mod retry;
mod scripted;
mod timeouts;

pub use catalogue::{KnownModel, catalogue, find};
pub use config::{ConfigError, Dialect, ModelConfig};
pub use http::HttpModel;
pub use presets::{PRESETS, Preset, preset};
pub use scripted::{ScriptError, Scripted};
pub use timeouts::Timeouts;
