//! The hook traits: one hook, one trait, one method. A decision is an enum.
//!
//! In the order of a turn: [`BeforeAgentStart`], [`BeforeTurn`], [`BeforeCompact`], [`BeforeModelRequest`],
//! [`AfterModelResponse`], [`BeforeAssistantMessage`], and for each tool call [`BeforeToolExecute`], [`ApproveTool`],
//! [`AfterToolExecute`]. [`Observer`]s are told of all of it. The [`scope`](RefusalScope) of a
//! [`Refusal`] says how much ends with the action that a hook refuses.
//!
//! Every hook gets the run's cancellation first; a hook that is cancelled should return soon, and whatever it
//! then decides, the action it was asked about does not happen. One that panics has allowed nothing.
//!
//! ```
//! use async_trait::async_trait;
//! use haft_core::hooks::{
//!     BeforeAssistantMessage, BeforeToolExecute, BeforeTurn, CancellationToken, MessageDecision, Observer,
//!     ToolDecision, TurnDecision,
//! };
//! use haft_core::protocol::content::ToolCall;
//! use haft_core::protocol::event::AgentEvent;
//!
//! struct Careful;
//!
//! #[async_trait]
//! impl BeforeToolExecute for Careful {
//!     async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
//!         match call.args.as_str().contains("rm -rf") {
//!             true => ToolDecision::block("careful", "no deleting"),
//!             false => ToolDecision::Allow,
//!         }
//!     }
//! }
//!
//! #[async_trait]
//! impl BeforeTurn for Careful {
//!     async fn before_turn(&self, _: &CancellationToken, step: u32) -> TurnDecision {
//!         match step {
//!             1..=9 => TurnDecision::Allow,
//!             _ => TurnDecision::Block { by: "careful".into(), reason: "nine steps must do".into() },
//!         }
//!     }
//! }
//!
//! #[async_trait]
//! impl BeforeAssistantMessage for Careful {
//!     async fn before_assistant_message(&self, _: &CancellationToken, text: &str) -> MessageDecision {
//!         match text.contains("SECRET") {
//!             true => MessageDecision::Replace { by: "careful".into(), text: text.replace("SECRET", "…") },
//!             false => MessageDecision::Show,
//!         }
//!     }
//! }
//!
//! impl Observer for Careful {
//!     fn observe(&self, event: &AgentEvent) {
//!         if let AgentEvent::ToolResult { name, is_error: true, .. } = event {
//!             eprintln!("{name} failed");
//!         }
//!     }
//! }
//!
//! fn with(agent: haft_core::AgentBuilder) -> haft_core::AgentBuilder {
//!     agent
//!         .before_tool_execute(Careful)
//!         .before_turn(Careful)
//!         .before_assistant_message(Careful)
//!         .observer(Careful)
//! }
//! ```

mod approval;
mod compact;
mod message;
mod refusal;
mod request;
mod response;
mod result;
mod start;
mod tool_call;

use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::event::AgentEvent;
pub use tokio_util::sync::CancellationToken;

use crate::tool::Tool;

pub use approval::{Approval, ApproveTool};
pub use compact::{BeforeCompact, CompactDecision};
pub use message::{BeforeAssistantMessage, MessageDecision};
pub use refusal::{Refusal, RefusalScope};
pub use request::{BeforeModelRequest, OutgoingRequest, RequestDecision, RequestEdit};
pub use response::{AfterModelResponse, ReceivedResponse, ResponseDecision};
pub use result::{AfterToolExecute, FinishedCall, ResultDecision};
pub use start::{AgentStart, BeforeAgentStart, BeforeTurn, PromptSection, TurnDecision};
pub use tool_call::{AfterBlock, BeforeToolExecute, HookRole, ToolDecision};

/// Watches. Called on the agent's own thread, in order; it must not block and cannot change anything.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn observe(&self, event: &AgentEvent);
}

/// All hooks of an agent, each list in the order it is asked.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Asked once a prompt.
    pub before_agent_start: Vec<Arc<dyn BeforeAgentStart>>,
    /// Asked once a step.
    pub before_turn: Vec<Arc<dyn BeforeTurn>>,
    /// Asked for every request of a step.
    pub before_model_request: Vec<Arc<dyn BeforeModelRequest>>,
    /// Asked for every answer of a step.
    pub after_model_response: Vec<Arc<dyn AfterModelResponse>>,
    /// Asked for every tool call.
    pub before_tool_execute: Vec<Arc<dyn BeforeToolExecute>>,
    /// Asked for every call that has passed those.
    pub approve_tool: Vec<Arc<dyn ApproveTool>>,
    /// Asked for every result.
    pub after_tool_execute: Vec<Arc<dyn AfterToolExecute>>,
    /// Asked for every message with text.
    pub before_assistant_message: Vec<Arc<dyn BeforeAssistantMessage>>,
    /// Asked before the context is summed up.
    pub before_compact: Vec<Arc<dyn BeforeCompact>>,
    /// Told everything.
    pub observers: Vec<Arc<dyn Observer>>,
}

impl Hooks {
    /// Appends the hooks of `other` behind these.
    pub fn extend(&mut self, other: Self) {
        self.before_agent_start.extend(other.before_agent_start);
        self.before_turn.extend(other.before_turn);
        self.before_model_request.extend(other.before_model_request);
        self.after_model_response.extend(other.after_model_response);
        self.before_tool_execute.extend(other.before_tool_execute);
        self.approve_tool.extend(other.approve_tool);
        self.after_tool_execute.extend(other.after_tool_execute);
        self.before_assistant_message.extend(other.before_assistant_message);
        self.before_compact.extend(other.before_compact);
        self.observers.extend(other.observers);
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks")
            .field("before_agent_start", &self.before_agent_start.len())
            .field("before_turn", &self.before_turn.len())
            .field("before_model_request", &self.before_model_request.len())
            .field("after_model_response", &self.after_model_response.len())
            .field("before_tool_execute", &self.before_tool_execute.len())
            .field("approve_tool", &self.approve_tool.len())
            .field("after_tool_execute", &self.after_tool_execute.len())
            .field("before_assistant_message", &self.before_assistant_message.len())
            .field("before_compact", &self.before_compact.len())
            .field("observers", &self.observers.len())
            .finish()
    }
}

/// Hooks that come and go while the agent lives: an extension host. Asked at every hook point, so that a guard
/// that subscribed a moment ago counts. Observers are an exception: those of the moment when the prompt comes watch
/// the whole run.
#[async_trait]
pub trait HookSource: Send + Sync {
    /// The hooks at this moment, in order.
    fn hooks(&self) -> Hooks;

    /// A tool that the agent does not have and the model calls: that of an extension which is still starting, when it has
    /// come. None when there is none of this name, or the run was cancelled.
    async fn late_tool(&self, _cancel: &CancellationToken, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }
}
