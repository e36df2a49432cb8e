//! The hook traits: each hook is a trait with one method, and each decision is an enum.
//!
//! In the order of a turn: [`OnInput`], [`BeforeAgentStart`], [`BeforeTurn`], [`BeforeCompact`], [`BeforeModelRequest`],
//! [`BeforeProviderRequest`], [`AfterModelResponse`], [`BeforeAssistantMessage`], and for each tool call
//! [`BeforeToolExecute`], [`ApproveTool`], [`AfterToolExecute`]; at the end [`BeforeSettle`]. [`Observer`]s receive all
//! events. The [`scope`](RefusalScope) of a [`Refusal`] determines how much work ends with the refused action.
//!
//! The first argument of every hook is the cancellation token of the run. A cancelled hook should return soon; the
//! action does not happen, whatever the hook decides. A panic counts as a refusal.
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
//!             _ => TurnDecision::Block { by: "careful".into(), reason: "limit of nine steps".into() },
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

mod closures;
mod gate_clock;
mod input;
mod model_call;
mod session_change;
mod settle;
mod shared;
mod tool_call;
mod user_bash;
mod wait_point;

use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
pub use tokio_util::sync::CancellationToken;

use crate::compact::PendingCompaction;
pub use crate::model::{BeforeProviderRequest, ProviderRequest, ProviderRequestDecision};
use crate::session::EntryId;
use crate::session::entry::CustomMessage;
use crate::tool::Tool;

pub(crate) use closures::{ApproverFn, ObserverFn};
pub use closures::{allow, deny};
pub use gate_clock::{GateClock, GateClockPause};
pub use input::{AttachedFile, OnInput, UserInput, UserInputDecision};
pub use model_call::{
    AfterModelResponse, BeforeModelRequest, OutgoingRequest, ReceivedResponse, RequestDecision, RequestEdit,
    ResponseDecision,
};
pub use session_change::{
    BeforeFork, BeforeSwitch, BeforeTree, BranchDecision, HookSummary, PendingFork, PendingMove,
    PendingSwitch, SessionChangeDecision, SessionChangeError, SwitchReason,
};
pub(crate) use session_change::{review_fork, review_move, review_switch};
pub use settle::{BeforeSettle, MAX_CONTINUATIONS, SettleDecision, SettlingRun};
pub use tool_call::{
    AfterBlock, AfterToolExecute, ApproveTool, ApproverDecision, BeforeToolExecute, FinishedCall, HookRole,
    PendingCall, ResultDecision, ToolDecision,
};
pub(crate) use user_bash::review_command;
pub use user_bash::{OnUserBash, ReviewedUserBash, UserBash, UserBashDecision};
pub use wait_point::{OnWaitPoint, WaitPoint};

/// Observes events. Called on the agent's thread, in order. An observer must not block and cannot change anything. A
/// panic is ignored, and the observer receives the next event.
#[diagnostic::on_unimplemented(note = "a closure is passed to `AgentBuilder::observe`")]
pub trait Observer: Send + Sync {
    /// Receives an event.
    fn observe(&self, event: &AgentEvent);
}

/// All hooks of an agent, each list in the order in which its hooks are asked.
///
/// One value can implement several hooks, for [`AgentBuilder::hooks`](crate::AgentBuilder::hooks):
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::AgentBuilder;
/// use haft_core::hooks::{BeforeToolExecute, BeforeTurn, HookSet};
///
/// fn with<H: BeforeTurn + BeforeToolExecute + 'static>(agent: AgentBuilder, guard: H) -> AgentBuilder {
///     let guard = Arc::new(guard);
///     let mut hooks = HookSet::default();
///     hooks.before_turn.push(guard.clone());
///     hooks.before_tool_execute.push(guard);
///     agent.hooks(hooks)
/// }
/// ```
#[derive(Clone, Default)]
pub struct HookSet {
    /// Asked about each input of the user.
    pub on_input: Vec<Arc<dyn OnInput>>,
    /// Asked about each shell command of the user.
    pub on_user_bash: Vec<Arc<dyn OnUserBash>>,
    /// Asked before another session is opened.
    pub before_switch: Vec<Arc<dyn BeforeSwitch>>,
    /// Asked before the conversation is copied.
    pub before_fork: Vec<Arc<dyn BeforeFork>>,
    /// Asked before the session continues from another entry.
    pub before_tree: Vec<Arc<dyn BeforeTree>>,
    /// Asked once per prompt.
    pub before_agent_start: Vec<Arc<dyn BeforeAgentStart>>,
    /// Asked once per step.
    pub before_turn: Vec<Arc<dyn BeforeTurn>>,
    /// Asked for every request of a step.
    pub before_model_request: Vec<Arc<dyn BeforeModelRequest>>,
    /// Asked for every encoded request.
    pub before_provider_request: Vec<Arc<dyn BeforeProviderRequest>>,
    /// Asked for every response of a step.
    pub after_model_response: Vec<Arc<dyn AfterModelResponse>>,
    /// Asked for every tool call.
    pub before_tool_execute: Vec<Arc<dyn BeforeToolExecute>>,
    /// Asked for every call that those hooks allowed.
    pub approve_tool: Vec<Arc<dyn ApproveTool>>,
    /// Asked for every result.
    pub after_tool_execute: Vec<Arc<dyn AfterToolExecute>>,
    /// Asked for every message with text.
    pub before_assistant_message: Vec<Arc<dyn BeforeAssistantMessage>>,
    /// Asked before a run ends.
    pub before_settle: Vec<Arc<dyn BeforeSettle>>,
    /// Asked before a compaction.
    pub before_compact: Vec<Arc<dyn BeforeCompact>>,
    /// Waited for at points of a run.
    pub wait_points: Vec<Arc<dyn OnWaitPoint>>,
    /// Receive all events.
    pub observers: Vec<Arc<dyn Observer>>,
}

impl HookSet {
    /// Appends the hooks of `other`.
    pub fn extend(&mut self, other: Self) {
        self.on_input.extend(other.on_input);
        self.on_user_bash.extend(other.on_user_bash);
        self.before_switch.extend(other.before_switch);
        self.before_fork.extend(other.before_fork);
        self.before_tree.extend(other.before_tree);
        self.before_agent_start.extend(other.before_agent_start);
        self.before_turn.extend(other.before_turn);
        self.before_model_request.extend(other.before_model_request);
        self.before_provider_request.extend(other.before_provider_request);
        self.after_model_response.extend(other.after_model_response);
        self.before_tool_execute.extend(other.before_tool_execute);
        self.approve_tool.extend(other.approve_tool);
        self.after_tool_execute.extend(other.after_tool_execute);
        self.before_assistant_message.extend(other.before_assistant_message);
        self.before_settle.extend(other.before_settle);
        self.before_compact.extend(other.before_compact);
        self.wait_points.extend(other.wait_points);
        self.observers.extend(other.observers);
    }
}

impl std::fmt::Debug for HookSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks")
            .field("on_input", &self.on_input.len())
            .field("on_user_bash", &self.on_user_bash.len())
            .field("before_switch", &self.before_switch.len())
            .field("before_fork", &self.before_fork.len())
            .field("before_tree", &self.before_tree.len())
            .field("before_agent_start", &self.before_agent_start.len())
            .field("before_turn", &self.before_turn.len())
            .field("before_model_request", &self.before_model_request.len())
            .field("before_provider_request", &self.before_provider_request.len())
            .field("after_model_response", &self.after_model_response.len())
            .field("before_tool_execute", &self.before_tool_execute.len())
            .field("approve_tool", &self.approve_tool.len())
            .field("after_tool_execute", &self.after_tool_execute.len())
            .field("before_assistant_message", &self.before_assistant_message.len())
            .field("before_settle", &self.before_settle.len())
            .field("before_compact", &self.before_compact.len())
            .field("wait_points", &self.wait_points.len())
            .field("observers", &self.observers.len())
            .finish()
    }
}

/// A source of hooks that change while the agent exists, for example an extension host. The agent calls it at every
/// hook point, so that a new gate takes effect at once. Observers are an exception: the observers at the start of a
/// prompt stay for the whole run.
#[async_trait]
pub trait HookSource: Send + Sync {
    /// Returns the current hooks, in order.
    fn hooks(&self) -> HookSet;

    /// Returns the current hooks of [`HookSet::wait_points`] alone. A run asks for them more often than for the others.
    fn wait_points(&self) -> Vec<Arc<dyn OnWaitPoint>> {
        self.hooks().wait_points
    }

    /// Returns a tool that the model called and the agent does not have, for example the tool of an extension that is
    /// still starting. Returns `None` if there is no such tool or the run was cancelled.
    async fn late_tool(&self, _cancel: &CancellationToken, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }
}

/// Hook before the agent starts to work on a prompt. A panic adds nothing.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{
///     AgentStart, AgentStartAdditions, BeforeAgentStart, CancellationToken, PromptSection,
/// };
///
/// struct HouseRules;
///
/// #[async_trait]
/// impl BeforeAgentStart for HouseRules {
///     async fn before_agent_start(&self, _: &CancellationToken, _: &AgentStart) -> AgentStartAdditions {
///         PromptSection::from("Tests come first.").into()
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeAgentStart: Send + Sync {
    /// Adds sections to the system prompt, and messages to the conversation.
    async fn before_agent_start(&self, cancel: &CancellationToken, start: &AgentStart)
    -> AgentStartAdditions;
}

/// The input of [`BeforeAgentStart`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStart {
    /// The user's prompt.
    pub prompt: Vec<ContentBlock>,
    /// The current system prompt, including sections of earlier hooks.
    pub system_prompt: String,
}

/// The additions of one [`BeforeAgentStart`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentStartAdditions {
    /// Sections for the system prompt of this run.
    pub sections: Vec<PromptSection>,
    /// Messages that follow the prompt in the conversation. A run that resumes an earlier prompt adds none.
    pub messages: Vec<CustomMessage>,
}

impl From<PromptSection> for AgentStartAdditions {
    fn from(section: PromptSection) -> Self {
        Self { sections: vec![section], messages: Vec::new() }
    }
}

impl From<CustomMessage> for AgentStartAdditions {
    fn from(message: CustomMessage) -> Self {
        Self { sections: Vec::new(), messages: vec![message] }
    }
}

/// A section that a hook adds to the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    /// The text.
    pub text: String,
    /// The extension that adds the section. The model receives its text with the name of the extension, and truncated
    /// if it is too long. `None` for the embedder, whose text the model receives unchanged.
    pub extension: Option<ExtensionName>,
}

impl PromptSection {
    /// Creates a section of an extension.
    pub fn of_extension(extension: ExtensionName, text: impl Into<String>) -> Self {
        Self { text: text.into(), extension: Some(extension) }
    }
}

impl From<String> for PromptSection {
    /// Creates a section of the embedder.
    fn from(text: String) -> Self {
        Self { text, extension: None }
    }
}

impl From<&str> for PromptSection {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Hook before each step. See the [module](self) for an example.
#[async_trait]
pub trait BeforeTurn: Send + Sync {
    /// Decides whether the turn continues. `step` counts from 1 within a prompt.
    async fn before_turn(&self, cancel: &CancellationToken, step: u32) -> TurnDecision;
}

/// The decision about the start of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    /// The step starts.
    Allow,
    /// The turn ends.
    Block {
        /// The hook that blocked it.
        by: String,
        /// The reason, for the user.
        reason: String,
    },
}

/// Hook before the user sees an assistant message. Asked for every message with text. While such a hook exists, text
/// and thinking deltas are held back until it decides. A replaced or suppressed message also hides its thinking. See
/// the [module](self) for an example.
#[async_trait]
pub trait BeforeAssistantMessage: Send + Sync {
    /// Decides which text the user sees. The transcript keeps the original.
    async fn before_assistant_message(&self, cancel: &CancellationToken, text: &str) -> MessageDecision;
}

/// The decision about a message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDecision {
    /// Shows the original text.
    Show,
    /// Shows another text.
    Replace {
        /// The hook that replaced it.
        by: String,
        /// The text.
        text: String,
    },
    /// Shows nothing. Tool calls of the message still run.
    Suppress {
        /// The hook that suppressed it.
        by: String,
        /// The text that the user sees instead.
        reason: String,
    },
}

/// Hook before a compaction. All such hooks are asked. Any refusal counts; of several replacements, the first counts. A
/// panic is ignored.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::compact::PendingCompaction;
/// use haft_core::hooks::{BeforeCompact, CancellationToken, CompactDecision};
///
/// /// Summarizes without a model: lists the prompts and the changed files.
/// struct Plainly;
///
/// #[async_trait]
/// impl BeforeCompact for Plainly {
///     async fn before_compact(&self, _: &CancellationToken, about: &PendingCompaction) -> CompactDecision {
///         let earlier = about.previous_summary.clone().unwrap_or_default();
///         let summary = format!("{earlier}Changed files: {}", about.files_modified.join(", "));
///         CompactDecision::Replace { by: "plainly".into(), summary, first_kept: None }
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeCompact: Send + Sync {
    /// Decides whether the context is compacted, and with which summary.
    async fn before_compact(
        &self,
        cancel: &CancellationToken,
        compacting: &PendingCompaction,
    ) -> CompactDecision;

    /// Reports that the kept part cannot begin at this entry, so that the hook's decision was ignored.
    fn cut_refused(&self, _first_kept: EntryId) {}
}

/// The decision about a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactDecision {
    /// The model writes the summary.
    Default,
    /// The context stays unchanged. If it is too long, the provider rejects the request and the turn ends.
    Cancel {
        /// The hook that refused.
        by: String,
        /// The reason, for the user.
        reason: String,
    },
    /// The hook's summary is used without a request to the model. A too long summary is truncated.
    Replace {
        /// The hook that wrote the summary.
        by: String,
        /// The summary for the model.
        summary: String,
        /// The first kept entry, if not the suggested one: one of [`PendingCompaction::cut_points`].
        first_kept: Option<EntryId>,
    },
}

/// A refusal: the action does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The hook that refused.
    pub by: String,
    /// The reason. The model sees it if the turn continues, otherwise the user.
    pub reason: String,
    /// The amount of work that ends.
    pub scope: RefusalScope,
}

/// The amount of work that a [`Refusal`] ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalScope {
    /// Only the action.
    Call,
    /// The turn; it fails with the reason.
    Turn,
    /// The turn; the turn is removed from the context.
    DiscardedTurn,
    /// The run, and the program that runs the agent should end because a guard of the agent has failed. The run fails
    /// with [`TurnErrorKind::Stopped`](crate::error::TurnErrorKind::Stopped).
    Run,
}

impl Refusal {
    /// Creates a refusal.
    pub fn new(scope: RefusalScope, by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { by: by.into(), reason: reason.into(), scope }
    }

    /// Creates a refusal that ends the turn with an error that contains the reason.
    pub fn for_turn(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::Turn, by, reason)
    }

    /// Creates a refusal that ends the turn without an error and removes the turn from the context.
    pub fn for_discarded_turn(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::DiscardedTurn, by, reason)
    }
}
