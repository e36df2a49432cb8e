//! Runs extensions: processes, the native dialect, core's hooks and tools over running extensions.
//!
//! For whom: front ends and programs that embed an agent with extensions. The promise: one extension's failure
//! never fails, delays past its deadline, or reorders another's call, and is reported once, with its name.
//! Never in here: the terminal.
//!
//! A [`Host`] holds all extensions of one agent. What shall run comes from a [`SpecSource`], what they say goes to
//! an [`EventSink`] and a [`Frontend`], and the agent sees them as hooks and tools.

// The layers, the highest first: each imports only from those below it.
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
pub use extension::services::{AllowedPaths, ExtensionToolSource, ServiceReach};
pub use host::{
    CommandError, CommandInfo, CommandOutcome, DiscoveredExtensions, ExtensionStatus, Host, HostBuilder,
    ReloadStats, RestartError, SpecSource,
};
pub use process::log::log_path;
pub use session::ExtensionState;
pub use supervision::config::HostConfig;
pub use supervision::failures::{LastFailure, forget_failure, last_failure, last_failure_of_hook};
pub use supervision::silent::starts_slowly;
pub use timeouts::{RestartTiming, Timeouts};
pub use wire::fault::FaultCode;
pub use wire::framer::{FramedLine, LineFramer};
