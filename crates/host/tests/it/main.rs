//! The host with extensions in memory and in virtual time, and with real processes where only those show the
//! behavior.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by a panic")]

mod activation;
mod agent;
#[cfg(unix)]
mod agent_calls;
mod approvals;
mod approved;
mod asks;
mod bytes;
mod commands;
mod content_hooks;
mod file_locks;
mod gate_failures;
mod gates;
mod hooks;
mod lifecycle;
mod long_lines;
mod messages;
mod misbehavior;
mod model_hooks;
mod observers;
mod permissions;
mod pins;
mod process_hooks;
mod processes;
mod project_trust;
mod reload;
mod resources;
mod scripts;
mod services;
mod session_changes;
mod slow;
mod start_agent;
mod stops;
mod supervision;
mod support;
mod tools;
mod waits;
