//! The host over extensions in memory, in virtual time, and over real processes where only they show something;
//! what is found, read and installed before anything runs.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by a panic")]

mod activation;
mod agent;
#[cfg(unix)]
mod approved;
mod bytes;
mod changes;
mod commands;
mod discovery;
mod gate_failures;
mod gates;
mod hooks;
mod install;
mod kept;
mod lifecycle;
mod long_lines;
mod manifest;
mod misbehaviour;
mod observers;
mod permissions;
mod pins;
mod process_hooks;
mod processes;
mod reload;
mod scripts;
mod services;
mod slow;
mod supervision;
mod support;
mod tools;
