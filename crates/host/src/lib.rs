//! Runs extensions: processes, the native dialect, and core's hooks and tools for running extensions.
//!
//! ```
//! # #[cfg(not(unix))]
//! # fn main() {}
//! # #[cfg(unix)]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use haft_core::model::{Model, ModelError, ModelId, ModelRequest, ModelResponse, ModelStream};
//! # struct Clerk;
//! # #[haft_core::async_trait]
//! # impl Model for Clerk {
//! #     fn info(&self) -> ModelId { ModelId { provider: "house".into(), model: "clerk-1".into() } }
//! #     async fn stream(&self, _: haft_core::CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
//! #         Ok(ModelResponse::text("Hello!").into_stream())
//! #     }
//! # }
//! # let model = Clerk;
//! use haft_core::Agent;
//! use haft_host::{Host, HostConfig};
//! use haft_packages::discovery::{Discovery, DiscoveryOptions};
//!
//! let extension = tempfile::tempdir()?; // an extension: a directory with a manifest and a program
//! std::fs::write(extension.path().join("extension.json"), r#"{"name": "hi", "exec": "sh", "args": ["hi.sh"]}"#)?;
//! std::fs::write(extension.path().join("hi.sh"), r#"
//!     echo '{"type":"hello","name":"hi","version":"1.0.0","capabilities":["commands"]}'
//!     echo '{"type":"register_command","name":"hi","description":"Say hi"}'
//!     echo '{"type":"ready"}'
//!     read -r hello_ack
//! "#)?;
//!
//! let search = DiscoveryOptions {
//!     explicit: vec![extension.path().to_owned()],
//!     path: std::env::var_os("PATH"),
//!     ..DiscoveryOptions::default()
//! };
//! let host = Host::builder(HostConfig::new("1.0.0", model.info(), extension.path()));
//! let host = host.source(move || Discovery::run(&search).into());
//! let (agent, host) = host.start_agent(Agent::builder(model)).await?;
//! assert_eq!(host.commands()[0].description, "Say hi");
//! assert_eq!(agent.prompt("Hi").await?, "Hello!");
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! * [`Host`], [`HostBuilder`], [`HostConfig`]: the extensions of one agent;
//! * [`SpecSource`], [`DiscoveredExtensions`]: the extensions to run; `haft_packages` finds them;
//! * [`ExtensionCommand`], [`CommandOutcome`]: commands of extensions;
//! * [`ExtensionStatus`], [`ExtensionState`], [`FaultCode`]: what runs, and what failed;
//! * [`EventSink`], [`Frontend`]: the output of extensions, and the screen that they draw on;
//! * [`ExtensionToolSource`], [`AllowedPaths`]: the tools that extensions may call;
//! * [`Timeouts`], [`RestartTiming`]: all limits of time; [`launch`]: the launcher, which sandboxes extensions.
//!
//! For front ends and programs that embed an agent with extensions. Guarantees: the failure of one extension
//! never fails another extension's call, delays it beyond its deadline, or reorders it. Each failure is
//! reported once, with the extension's name. This crate does not access the terminal.

// The layers from top to bottom: each imports only from those below it.
mod host;

mod agent;
mod supervision;

mod extension;
mod process;
mod session;
mod wire;

mod timeouts;

pub use haft_launch as launch;
pub use haft_packages::ExtensionOrigin;

pub use agent::pins::run_in_background;
pub use extension::frontend::{EventSink, FailingGate, Frontend, GateChoice, HeadlessFrontend};
pub use extension::services::{AllowedPaths, ExtensionToolSource, FileLockError, ServiceReach};
pub use host::{
    CommandError, CommandOutcome, DiscoveredExtensions, ExtensionCommand, ExtensionResources,
    ExtensionStatus, ExtensionTrust, Host, HostBuilder, ReloadStats, RestartError, ShortcutError, SpecSource,
};
pub use process::log::{log_path, open_log};
pub use session::ExtensionState;
pub use supervision::config::HostConfig;
pub use supervision::failures::{LastFailure, forget_failure, last_failure, last_failure_of_hook};
pub use supervision::silent_starts::starts_slowly;
pub use timeouts::{RestartTiming, Timeouts};
pub use wire::fault::FaultCode;
pub use wire::framer::{FramedLine, LineFramer};
