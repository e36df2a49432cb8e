//! Supervision of extensions: their start, restart and failures.

mod code_digests;
pub(crate) mod config;
pub(crate) mod failures;
pub(crate) mod host_context;
pub(crate) mod process_supervisor;
mod project_check;
pub(crate) mod restart_policy;
mod sandbox_setup;
pub(crate) mod session_start;
pub(crate) mod silent_starts;
pub(crate) mod slot;
pub(crate) mod streams;
