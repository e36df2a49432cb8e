//! The agent: a model, tools, hooks, and the loop that connects them.
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
pub use call::{CallableTool, ExtensionCall, ExtensionCallResult, ExtensionToolRunner};
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
