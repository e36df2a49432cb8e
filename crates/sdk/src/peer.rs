//! The machinery of [`Extension::run`](crate::Extension::run) for programs that speak another dialect of lines: threads
//! for handlers, caught panics, and the end of the connection. For haft's own crates only: these items may change in any
//! version.

pub use crate::dispatch::{DispatchOutcome, LineHandler};
pub use crate::extension::check::{check_tool, check_tool_name, find_duplicate, refuse_first};
pub use crate::handler::{BoxFuture, BoxedHandler, HandlerFailure};
pub use crate::logging::log;
pub use crate::outbox::FrameOutbox;
pub use crate::run::{exit_code, serve_stdio};
pub use crate::running_handlers::RunningHandlers;
pub use crate::running_handlers::runtimes::{HandlerRuntimes, OwnRuntimes};
pub use crate::serve::lines::LineReader;
pub use crate::serve::serve_streams;
pub use crate::timeouts::HARNESS_PATIENCE;
pub use crate::tool::tool_registration;
