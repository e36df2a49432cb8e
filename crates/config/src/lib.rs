//! Where haft keeps its files, and what the user configured.
//!
//! For whom: the binary, and programs that want to follow the same configuration. The promise: every setting
//! says where it came from, and a file with a mistake in it is an error that shows the line. Never in here:
//! extensions and how they run, the terminal, anything read from a project: a cloned repository must not
//! choose the server that a key is sent to, so `./.haft/config.toml` is not read before trust in projects exists.
//!
//! * [`Home`]: the directory and the files in it;
//! * [`ConfigFile`]: `config.toml`; [`Auth`]: `auth.json`;
//! * [`Layer`] and [`Settings`]: flags over environment over file over defaults.

mod auth;
mod file;
mod home;
mod settings;

pub use auth::{Auth, AuthError};
pub use file::{ConfigError, ConfigFile, ExtensionSettings, OnTimeout};
pub use home::{Home, HomeError};
pub use secrecy::{ExposeSecret, SecretString};
pub use settings::{Layer, LayerError, Origin, Settings, Sourced, env};
