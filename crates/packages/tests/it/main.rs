//! Extensions as files: what is read, found, installed, changed and removed before anything runs.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by a panic")]

mod changes;
mod discovery;
mod install;
mod kept;
mod manifest;
