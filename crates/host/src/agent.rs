//! Core's hooks and tools over running extensions: what they are asked, what a failure means, and what follows when a gate
//! keeps failing.

pub(crate) mod entry;
pub(crate) mod gates;
pub(crate) mod hook_context;
pub(crate) mod hooks;
pub(crate) mod pins;
mod policy;
pub(crate) mod process_hook;
pub(crate) mod tool;
