//! Runs extensions: processes, the native dialect, core's hooks and tools over running extensions.
//!
//! For whom: front ends and programs that embed an agent with extensions. The promise: one extension's failure
//! never fails, delays past its deadline, or reorders another's call, and is reported once, with its name.
//! Never in here: the terminal.
//!
//! A [`Host`] holds all extensions of one agent. What shall run comes from a [`SpecSource`], what they say goes to
//! an [`EventSink`] and a [`Frontend`], and the agent sees them as hooks and tools.

// What there is, before anything runs.
pub mod discovery;
pub mod install;
pub mod manifest;
mod permission;

// The whole, from outside in.
mod host;
mod spec;
mod timeouts;

// What a host is made of: one entry an extension, and its face towards core.
mod backlog;
mod catalog;
mod confine;
mod entry;
mod environment;
mod failures;
mod fanout;
mod fault;
mod frontend;
mod gates;
mod hash;
mod hook;
mod hooks;
mod keeper;
mod pins;
mod policy;
mod registration;
mod services;
mod shared;
mod silent;
mod state_files;
mod status_line;
mod supervisor;
mod tool;

// One connection: state machine, task, bytes, process.
mod extension;
mod framer;
mod log;
mod process;
mod project_check;

pub use haft_launch as launch;

pub use confine::{GrantedPath, PathError, SandboxGrant};
pub use environment::{ExtensionEnv, GrantError, check_grant};
pub use extension::ExtensionState;
pub use failures::{LastFailure, forget_failure, last_failure, last_failure_of_hook};
pub use fault::FaultCode;
pub use framer::{Framer, Item};
pub use frontend::{EventSink, Frontend, GateChoice, GateFailing, Headless};
pub use hook::{EventForm, HookCommand, HookSpec, HookTimeouts, ToolNames};
pub use host::{
    CommandError, CommandInfo, CommandOutcome, ExtensionStatus, Found, Host, HostBuilder, HostConfig,
    ReloadStats, RestartError, SpecSource,
};
pub use log::log_path;
pub use permission::{
    Effect, ExecPermission, FsPermissions, InterceptAs, InterceptPermission, Line, Permissions,
    ToolPermissions,
};
pub use pins::{PinnedTool, ToolPins};
pub use project_check::ProjectCheck;
pub use services::{ServiceReach, Services, Within};
pub use silent::starts_slowly;
pub use spec::{Dialect, ExtensionSpec, Launch, Lifecycle, Origin, Roles};
pub use timeouts::{Restarts, Timeouts};
