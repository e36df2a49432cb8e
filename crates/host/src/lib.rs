//! Runs extensions: processes, the native dialect, core's hooks and tools over running extensions.
//!
//! For whom: front ends and programs that embed an agent with extensions. The promise: one extension's failure
//! never fails, delays past its deadline, or reorders another's call, and is reported once, with its name.
//! Never in here: the terminal.

pub mod discovery;
pub mod install;
pub mod manifest;

mod spec;

pub use spec::{ExtensionSpec, Launch, Origin, Roles};
