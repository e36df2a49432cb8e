//! The agent: a model, tools, hooks, and the loop that connects them.
//!
//! ```
//! use haft_core::prelude::*;
//!
//! /// Calls the tool `clock`, then says the result. Most programs use a model of `haft-providers`.
//! struct Clerk;
//!
//! #[async_trait]
//! impl Model for Clerk {
//!     fn info(&self) -> ModelId {
//!         ModelId { provider: "house".into(), model: "clerk-1".into() }
//!     }
//!
//!     async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
//!         let answer = match request.messages.last() {
//!             Some(result @ Message::Tool(_)) => ModelResponse::text(format!("It is {}.", result.text())),
//!             _ => ModelResponse::with_tool_calls([ToolCall::new("call-1", "clock", serde_json::json!({}))]),
//!         };
//!         Ok(answer.into_stream())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let clock = function("clock", "Returns the time.", |NoArgs {}, _| async { "noon" });
//! let agent = Agent::builder(Clerk).instructions("You tell the time.").tool(clock).build()?;
//! assert_eq!(agent.prompt("How late is it?").await?, "It is noon.");
//! # Ok(())
//! # }
//! ```
//!
//! * [`prelude`]: the names that most programs need, in one import;
//! * [`Agent`], [`AgentBuilder`]: the agent; [`Run`], [`RunHandle`]: the work on one prompt;
//! * [`model`]: the trait [`Model`](model::Model), requests and answers;
//! * [`tool`]: the trait [`Tool`](tool::Tool), tools from closures; [`schema`]: the check of their arguments;
//! * [`hooks`]: the traits whose implementations watch and decide;
//! * [`session`]: the record of a conversation, in a file, in memory or in a store of the program;
//! * [`prompt`]: the system prompt; [`compact`]: the summary of a long conversation;
//! * [`error`]: the errors of a run; [`completion`]: requests outside of the conversation;
//! * [`jobs`], [`file_queue`], [`services`], [`truncate`], [`image`]: parts that tools share;
//! * [`sanitize`]: text of a model for a terminal; [`protocol`]: messages, events and other types of the wire.
//!
//! Audience: programs that embed an agent, and haft's own front ends. Guarantees: a turn always ends; a tool runs only
//! with arguments that every gate saw; a panic in the async code of a tool, hook or model, or in an observer, ends
//! nothing else. Out of scope: processes, the terminal, extensions.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod age;
pub mod chain;
pub mod compact;
pub mod error;
pub mod file_queue;
pub mod hooks;
pub mod image;
pub mod jobs;
pub mod json_shape;
pub mod model;
pub mod prelude;
pub mod prompt;
pub mod sanitize;
pub mod schema;
pub mod services;
pub mod session;
pub mod tool;
pub mod truncate;

mod agent;
mod agent_state;
mod call;
pub mod completion;
mod emitter;
mod forward;
mod limits;
mod panics;
mod queue;
mod run;
mod run_context;
mod stats;
mod text_filter;
mod timeouts;
mod transcript;
mod turn;

pub use agent::{Agent, AgentBuilder, BuildError};
pub use agent_state::InvalidToolError;
pub use call::{CallableTool, ExtensionToolCall, ExtensionToolResult, ExtensionToolRunner};
pub use error::TurnError;
pub use queue::{
    AddMessageError, CustomOrigin, MessageDelivery, Prompt, QueueDelivery, QueueError, QueuedMessages,
};
pub use run::{Run, RunHandle};
pub use stats::{ContextShares, ContextUsage, SessionStats, estimated_tokens};
pub use text_filter::TextFilter;

pub use async_trait::async_trait;
pub use haft_protocol as protocol;
#[cfg(feature = "schemars")]
pub use schemars;
pub use tokio_util::sync::CancellationToken;
