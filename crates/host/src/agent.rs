//! Core's hooks and tools for running extensions: the queries, the effect of a failure, and the handling of
//! gates that keep failing.

pub(crate) mod events;
pub(crate) mod gates;
pub(crate) mod hook_context;
pub(crate) mod hooks;
pub(crate) mod managed_extension;
pub(crate) mod pins;
mod policy;
pub(crate) mod tool;
pub(crate) mod wait_points;
