//! Write a haft extension.
//!
//! ```no_run
//! use haft_sdk::{Extension, Response, ToolResult};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct City { city: String }
//!
//! fn main() -> std::process::ExitCode {
//!     Extension::new("weather", "1.0.0")
//!         .command("hello", "say hi", |_args, _host| async { Response::prompt("Greet me in one short sentence.") })
//!         .tool("weather", "Current weather for a city.", |args: City, _host| async move {
//!             ToolResult::text(format!("{}: sunny", args.city))
//!         })
//!         .run()
//! }
//! ```
//!
//! **stdout is the wire.** Frames go out on it and nothing else may: one `println!`, in your code or in a crate you
//! use, is a line the host cannot read. Write to the log instead, with [`log!`], which goes to stderr and from there to
//! the file that `haft ext logs <name>` shows. Put `#![deny(clippy::print_stdout)]` at the top of your crate.
//!
//! * [`Extension`]: what you offer; its handlers get a [`Host`] to talk back;
//! * [`Response`], [`ToolResult`] and the decisions: what handlers answer;
//! * [`testing::Harness`]: your extension under test, in memory.
//!
//! A handler that panics or returns an error is answered for, once, and the extension goes on. Intercepts run beside
//! the connection and must not block their thread; tools, commands, events and panels have threads of their own.

#![warn(clippy::exhaustive_structs)]

mod dispatch;
mod error;
mod extension;
mod handler;
mod host;
mod lane;
mod lines;
mod logging;
mod outbox;
mod panel;
mod refuse;
mod responder;
mod run;
mod serve;
mod stdio;
mod timeouts;
mod tool;

pub mod testing;

pub use error::ServeError;
pub use extension::Extension;
/// Frames and their parts, for what is not re-exported by name.
pub use haft_protocol as protocol;
pub use haft_protocol::RawJson;
pub use haft_protocol::event::Level;
pub use haft_protocol::ext::{
    AssistantMessageDecision, BeforeAgentStartDecision, CommandAction as Response, Event,
    HelloAck as HostInfo, InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptToolCall,
    InterceptTurnStart, Panel, PanelKey, ToolCallDecision, TurnStartDecision,
};
pub use handler::IntoAnswer;
pub use host::Host;
pub use logging::log;
pub use panel::PanelEvent;
pub use tool::{NoArgs, ToolResult};
