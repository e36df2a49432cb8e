//! Runs extensions: processes, the native dialect, core's hooks and tools over running extensions.
//!
//! For whom: front ends and programs that embed an agent with extensions. The promise: one extension's failure
//! never fails, delays past its deadline, or reorders another's call, and is reported once, with its name.
//! Never in here: the terminal.
//!
//! A [`Host`] holds all extensions of one agent. What shall run comes from a [`SpecSource`], what they say goes to
//! an [`EventSink`] and a [`Frontend`], and the agent sees them as hooks and tools.

// The whole, from outside in.
mod host;
mod timeouts;

// What a host is made of: one entry an extension, and its face towards core.
mod backlog;
mod catalog;
mod entry;
mod gates;
mod hook;
mod hooks;
mod pins;
mod policy;
mod silent;
mod tool;

// One connection: state machine, task, bytes, process.
mod extension;
mod process;
mod session;
mod supervision;
mod wire;

pub use haft_launch as launch;
pub use haft_packages::Origin;

pub use extension::frontend::{EventSink, Frontend, GateChoice, GateFailing, Headless};
pub use extension::services::{ServiceReach, Services, Within};
pub use host::{
    CommandError, CommandInfo, CommandOutcome, ExtensionStatus, Found, Host, HostBuilder, ReloadStats,
    RestartError, SpecSource,
};
pub use pins::run_in_background;
pub use process::log::log_path;
pub use session::ExtensionState;
pub use silent::starts_slowly;
pub use supervision::config::HostConfig;
pub use supervision::failures::{LastFailure, forget_failure, last_failure, last_failure_of_hook};
pub use timeouts::{Restarts, Timeouts};
pub use wire::fault::FaultCode;
pub use wire::framer::{Framer, Item};
