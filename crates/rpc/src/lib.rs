//! Agent events as lines of JSON, and the order of commands from programs that drive haft.
//!
//! For whom: `haft --json`, and programs that show a run to another process. The promise: one event is one
//! line in the names of zot's RPC mode, written whole and at once; a command is answered exactly once. Never in here: agent
//! logic, a runtime.
//!
//! * [`line()`]: an event as one line;
//! * [`escaped`]: a line of JSON that no terminal obeys;
//! * [`EventWriter`]: the only thing that writes them;
//! * [`Outbox`]: lines that wait for a client which reads in its own time;
//! * [`Desk`]: the commands of a session, each answered exactly once;
//! * [`Dialogs`]: questions for the person in front of the client, each over exactly once;
//! * [`Door`]: who may drive the process; [`Roster`]: which session a command is about.

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

pub use desk::{Desk, Effect, Job, MOST_OPEN, MOST_WAITING, Ticket};
pub use dialogs::{Asked, Dialogs, Over, Question};
pub use door::{Door, Refused};
pub use haft_protocol::rpc::{escaped, line};
pub use outbox::{Outbox, Room};
pub use roster::Roster;
pub use screen::{Screen, Screens};
pub use serve::{End, Options, ServeError, serve};
pub use sessions::{Expanded, Opened, Sessions, Which};
pub use writer::{EventWriter, WriteError};
