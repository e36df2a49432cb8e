//! Agent events as lines of JSON, and agents that another program drives.
//!
//! For whom: `haft --json`, `haft rpc`, and programs that have their own agents driven. The promise: one event is one line in
//! the names of zot's RPC mode, written whole and at once; a command is answered exactly once; nobody waits for a client.
//! Never in here: agent logic, files, settings, a runtime.
//!
//! * [`serve()`]: a client drives the sessions that a program opens with its [`SessionProvider`]; each has a [`SessionScreen`];
//!   [`serve_local()`] for one in the same process, without JSON;
//! * [`line()`]: an event as one line; [`escaped`]: a line of JSON that no terminal obeys;
//! * [`EventWriter`]: writes events alone.
//!
//! Inside, `desk.rs` has the commands of a session in order, `outbox.rs` what waits for a client, `dialogs.rs` the questions
//! that wait for a person: state machines without IO. `serve/` carries out what they say.

pub mod timeouts;

mod desk;
mod dialogs;
mod door;
mod input;
mod outbox;
mod outlet;
mod questions;
mod roster;
mod screen;
mod serve;
mod sessions;
mod writer;

pub use desk::MOST_WAITING;
pub use haft_protocol::rpc::{escape_control_chars, line};
pub use outbox::OutboxLimits;
pub use screen::{ScreenFactory, SessionScreen};
pub use serve::{EndReason, ServeError, ServeOptions, serve, serve_local};
pub use sessions::{OpenedSession, SessionChoice, SessionProvider, TemplateExpansion, stored_info};
pub use writer::{EventWriter, WriteError};

fn shorten_name(name: &str) -> String {
    name.chars().take(64).collect()
}
