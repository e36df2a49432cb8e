//! Models over HTTP.
mod catalogue;
mod choose;
mod config;
mod http;
mod presets;
mod redact;
pub mod retry;
mod scripted;
mod timeouts;

pub use catalogue::{KnownModel, catalogue, find};
pub use choose::{
    Because, Choice, ChooseError, Chosen, LocalServer, Machine, Surroundings, Wish, choose, local_servers,
};
pub use config::{ConfigError, Dialect, ModelConfig};
pub use http::HttpModel;
pub use presets::{PRESETS, Preset, preset};
pub use scripted::{ScriptError, Scripted};
pub use timeouts::Timeouts;
