//! Runs extensions: processes, the native dialect, and core's hooks and tools for running extensions.
//!
//! For front ends and programs that embed an agent with extensions. Guarantees: the failure of one extension
//! never fails another extension's call, delays it beyond its deadline, or reorders it. Each failure is
//! reported once, with the extension's name. This crate does not access the terminal.
//!
//! A [`Host`] holds all extensions of one agent. A [`SpecSource`] provides the extensions to run. Their
//! output goes to an [`EventSink`] and a [`Frontend`]. The agent uses them as hooks and tools.

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
