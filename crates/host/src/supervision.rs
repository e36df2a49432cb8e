//! Supervision of extensions: their start, restart and failures.

pub(crate) mod config;
mod confine;
pub(crate) mod failures;
mod first_code;
pub(crate) mod keeper;
pub(crate) mod shared;
pub(crate) mod silent;
pub(crate) mod slot;
pub(crate) mod streams;
pub(crate) mod supervisor;
mod trusted_project;
