//! Agent events as lines of JSON, and agents that another program drives.
//!
//! For `haft --json`, `haft rpc`, and programs that let a client drive their own agents. Each event is one line with the names
//! of zot's RPC mode, written in full and at once. Each command is answered exactly once. The agent never waits for a client.
//! This crate contains no agent logic, file access, settings or runtime.
//!
//! * [`serve()`]: a client drives the sessions that a program opens with its [`SessionProvider`]; each has a [`SessionScreen`];
//!   [`serve_local()`] does the same for a client in the same process, without JSON;
//! * [`SessionOwner`]: carries out the commands of extensions for a program without a client, which drives its own run;
//! * [`line()`]: an event as one line; [`escape_control_chars`]: makes a line of JSON safe to print in a terminal;
//! * [`EventWriter`]: writes only events.
//!
//! Three state machines without IO make the decisions: `CommandScheduler` orders the commands of a session, `ClientOutbox`
//! holds the lines that wait for a client, and `DialogRegistry` holds the questions that wait for a person. `serve` applies
//! their results.

pub mod timeouts;

mod auth_gate;
mod client_sink;
mod command_scheduler;
mod dialogs;
mod extension_commands;
mod input;
mod open_sessions;
mod outbox;
mod question_broker;
mod screen;
mod serve;
mod session_provider;
mod writer;

pub use command_scheduler::MOST_WAITING;
pub use extension_commands::MOST_EXTENSION_PROMPTS;
pub use haft_protocol::rpc::{escape_control_chars, line};
pub use outbox::OutboxLimits;
pub use screen::{ScreenFactory, SessionScreen};
pub use serve::{
    EndReason, OwnRun, ServeError, ServeOptions, SessionEvents, SessionOwner, serve, serve_local,
};
pub use session_provider::{
    OpenedSession, ProgramTools, RunUpdate, SessionChoice, SessionProvider, TemplateExpansion, stored_info,
};
pub use writer::{EventWriter, WriteError};

fn shorten_name(name: &str) -> String {
    name.chars().take(64).collect()
}
