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

mod model_call;
mod tool_call;

use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
pub use tokio_util::sync::CancellationToken;

use crate::compact::PendingCompaction;
use crate::session::EntryId;
use crate::tool::Tool;

pub use model_call::{
    AfterModelResponse, BeforeModelRequest, OutgoingRequest, ReceivedResponse, RequestDecision, RequestEdit,
    ResponseDecision,
};
pub use tool_call::{
    AfterBlock, AfterToolExecute, ApproveTool, ApproverDecision, BeforeToolExecute, FinishedCall, HookRole,
    ResultDecision, ToolDecision,
};

/// Watches. Called on the agent's own thread, in order; it must not block and cannot change anything.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn observe(&self, event: &AgentEvent);
}

/// All hooks of an agent, each list in the order it is asked.
#[derive(Clone, Default)]
pub struct HookSet {
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

impl HookSet {
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

impl std::fmt::Debug for HookSet {
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
    fn hooks(&self) -> HookSet;

    /// A tool that the agent does not have and the model calls: that of an extension which is still starting, when it has
    /// come. None when there is none of this name, or the run was cancelled.
    async fn late_tool(&self, _cancel: &CancellationToken, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }
}

/// A prompt is about to be worked on.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{AgentStart, BeforeAgentStart, CancellationToken, PromptSection};
///
/// struct HouseRules;
///
/// #[async_trait]
/// impl BeforeAgentStart for HouseRules {
///     async fn before_agent_start(&self, _: &CancellationToken, _: &AgentStart) -> Vec<PromptSection> {
///         vec![PromptSection { owner: "house-rules".into(), text: "Tests come first.".into() }]
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeAgentStart: Send + Sync {
    /// Adds sections to the system prompt.
    async fn before_agent_start(&self, cancel: &CancellationToken, start: &AgentStart) -> Vec<PromptSection>;
}

/// The input of [`BeforeAgentStart`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStart {
    /// The user's prompt.
    pub prompt: Vec<ContentBlock>,
    /// The system prompt as it stands, sections of earlier hooks included.
    pub system_prompt: String,
}

/// A section that somebody else than haft adds to the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    /// The owner, which heads the section.
    pub owner: String,
    /// Its text.
    pub text: String,
}

/// The model is about to be called. There is an example at the [module](self).
#[async_trait]
pub trait BeforeTurn: Send + Sync {
    /// Decides whether the turn goes on. `step` is counted from 1 within one prompt.
    async fn before_turn(&self, cancel: &CancellationToken, step: u32) -> TurnDecision;
}

/// The decision about the start of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    /// It does.
    Allow,
    /// It ends here.
    Block {
        /// The hook that blocked it.
        by: String,
        /// The text for the user.
        reason: String,
    },
}

/// The user is about to see what the model said. Asked for every message with text. While there is such a hook,
/// deltas of text and thinking are held back until it has decided; a message that was replaced or suppressed takes
/// its thinking along. There is an example at the [module](self).
#[async_trait]
pub trait BeforeAssistantMessage: Send + Sync {
    /// Decides what the user sees. The transcript keeps the original.
    async fn before_assistant_message(&self, cancel: &CancellationToken, text: &str) -> MessageDecision;
}

/// The decision about a message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDecision {
    /// The text that was asked about.
    Show,
    /// This instead.
    Replace {
        /// The hook that replaced it.
        by: String,
        /// The text.
        text: String,
    },
    /// Nothing. Tool calls of the message still run.
    Suppress {
        /// The hook that suppressed it.
        by: String,
        /// The text for the user instead.
        reason: String,
    },
}

/// The context is about to be summed up, so that it fits into the model's window. All such hooks are asked; a refusal
/// counts whoever says it, and of several replacements the first. One that panics has said nothing.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::compact::PendingCompaction;
/// use haft_core::hooks::{BeforeCompact, CancellationToken, CompactDecision};
///
/// /// Sums up without a model: what was asked, and which files were changed.
/// struct Plainly;
///
/// #[async_trait]
/// impl BeforeCompact for Plainly {
///     async fn before_compact(&self, _: &CancellationToken, about: &PendingCompaction) -> CompactDecision {
///         let earlier = about.previous_summary.clone().unwrap_or_default();
///         let summary = format!("{earlier}TouchedFiles that were changed: {}", about.files_modified.join(", "));
///         CompactDecision::Replace { by: "plainly".into(), summary, first_kept: None }
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeCompact: Send + Sync {
    /// Decides whether it is, and what the summary says.
    async fn before_compact(
        &self,
        cancel: &CancellationToken,
        compacting: &PendingCompaction,
    ) -> CompactDecision;

    /// It wanted to keep what is kept from this entry on. The kept part cannot begin there, so what it decided does not
    /// count.
    fn cut_refused(&self, _first_kept: EntryId) {}
}

/// The decision about a context that is about to be summarized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactDecision {
    /// The model sums it up.
    Default,
    /// It stays as it is. If it is too long, the provider will say so, and the turn ends.
    Cancel {
        /// The hook that refuses it.
        by: String,
        /// The text for the user.
        reason: String,
    },
    /// The summary is this, and no model is asked. Cut if it is longer than a summary may be.
    Replace {
        /// The hook that wrote it.
        by: String,
        /// The summary for the model.
        summary: String,
        /// The first entry that is kept, if not the suggested one: one of [`PendingCompaction::cut_points`].
        first_kept: Option<EntryId>,
    },
}

/// A refusal: the action that a hook was asked about does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The hook that refuses.
    pub by: String,
    /// The reason, for the model where the turn continues, otherwise for the user.
    pub reason: String,
    /// The work that ends with the action.
    pub scope: RefusalScope,
}

/// The work that a [`Refusal`] ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalScope {
    /// The action alone.
    Call,
    /// The turn, with an error that has the reason.
    Turn,
    /// The turn, and nothing of the turn stays in the context.
    DiscardedTurn,
    /// The run, and the program that runs the agent should end: a guard of the agent is broken. The run fails with
    /// [`TurnErrorKind::Stopped`](crate::error::TurnErrorKind::Stopped).
    Run,
}

impl Refusal {
    /// Creates a refusal.
    pub fn new(scope: RefusalScope, by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { by: by.into(), reason: reason.into(), scope }
    }

    /// Refuses the work of a whole turn, which ends with an error that has the reason.
    pub fn for_turn(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::Turn, by, reason)
    }

    /// Refuses a whole turn, which ends without an error, and removes the turn from the context.
    pub fn for_discarded_turn(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::DiscardedTurn, by, reason)
    }
}
