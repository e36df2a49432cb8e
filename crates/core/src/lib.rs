//! The agent: a model, tools, hooks and the loop that joins them.
//!
//! For whom: programs that embed an agent, and haft's own front ends. The promise: a turn always ends, a tool
//! runs only with arguments that every gate saw, a panicking tool is an error result. Never in here: processes,
//! the terminal, any knowledge of extensions.

pub mod file_queue;
pub mod hooks;
pub mod model;
pub mod sanitize;
pub mod tool;
pub mod truncate;

pub use haft_protocol as protocol;
