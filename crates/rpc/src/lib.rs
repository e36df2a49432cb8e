//! Agent events as lines of JSON, written by one writer.
//!
//! For whom: `haft --json`, and programs that show a run to another process. The promise: one event is one
//! line in the names of zot's RPC mode, written whole and at once. Never in here: agent logic, a runtime.
//!
//! * [`event_line`]: an event as one line;
//! * [`escaped`]: a line of JSON that no terminal obeys;
//! * [`EventWriter`]: the only thing that writes them.

mod line;
mod writer;

pub use haft_protocol::rpc::escaped;
pub use line::event_line;
pub use writer::{EventWriter, WriteError};
