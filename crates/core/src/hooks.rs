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
//! # Names
//!
//! Each hook has a name, `a hook` by default. A decision does not contain it: the agent adds the name of the hook to
//! what events, errors and the session say about the decision.
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
//!             true => ToolDecision::block("no deleting"),
//!             false => ToolDecision::Allow,
//!         }
//!     }
//!
//!     fn name(&self) -> &str {
//!         "careful"
//!     }
//! }
//!
//! #[async_trait]
//! impl BeforeTurn for Careful {
//!     async fn before_turn(&self, _: &CancellationToken, step: u32) -> TurnDecision {
//!         match step {
//!             1..=9 => TurnDecision::Allow,
//!             _ => TurnDecision::Block { reason: "limit of nine steps".into() },
//!         }
//!     }
//!
//!     fn name(&self) -> &str {
//!         "careful"
//!     }
//! }
//!
//! #[async_trait]
//! impl BeforeAssistantMessage for Careful {
//!     async fn before_assistant_message(&self, _: &CancellationToken, text: &str) -> MessageDecision {
//!         match text.contains("SECRET") {
//!             true => MessageDecision::Replace { text: text.replace("SECRET", "…") },
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
mod hook_set;
mod input;
mod model_call;
mod session_change;
mod settle;
mod shared;
mod tool_call;
mod user_bash;
mod wait_point;

use async_trait::async_trait;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
pub use tokio_util::sync::CancellationToken;

use crate::compact::PendingCompaction;
use crate::model::UNNAMED_HOOK;
pub use crate::model::{BeforeProviderRequest, ProviderRequest, ProviderRequestDecision};
use crate::session::EntryId;
use crate::session::entry::CustomMessage;

pub(crate) use closures::{ApproverFn, ObserverFn};
pub use closures::{allow, deny};
pub use gate_clock::{GateClock, GateClockPause};
pub(crate) use hook_set::ListedHook;
pub use hook_set::{HookKind, HookSet, HookSource};
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
pub use user_bash::{BashDecision, OnUserBash, ReviewedUserBash, UserBash};
pub use wait_point::{OnWaitPoint, WaitPoint};

/// Observes events. Called on the agent's thread, in order. An observer must not block and cannot change anything. A
/// panic is ignored, and the observer receives the next event.
#[diagnostic::on_unimplemented(note = "a closure is passed to `AgentBuilder::observe`")]
pub trait Observer: Send + Sync {
    /// Receives an event.
    fn observe(&self, event: &AgentEvent);

    /// Returns the name of the hook, see the [module](self#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
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

    /// Returns the name of the hook, see the [module](self#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The input of [`BeforeAgentStart`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentStart {
    /// The user's prompt.
    pub prompt: Vec<ContentBlock>,
    /// The current system prompt, including sections of earlier hooks.
    pub system_prompt: String,
}

impl AgentStart {
    /// Creates the input of a hook.
    pub fn new(prompt: Vec<ContentBlock>, system_prompt: impl Into<String>) -> Self {
        Self { prompt, system_prompt: system_prompt.into() }
    }
}

/// The additions of one [`BeforeAgentStart`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentStartAdditions {
    /// Sections for the system prompt of this run.
    pub sections: Vec<PromptSection>,
    /// Messages that follow the prompt in the conversation. A run that resumes an earlier prompt adds none.
    pub messages: Vec<CustomMessage>,
}

impl AgentStartAdditions {
    /// Sets [`sections`](Self::sections).
    #[must_use]
    pub fn with_sections(self, sections: Vec<PromptSection>) -> Self {
        Self { sections, ..self }
    }

    /// Sets [`messages`](Self::messages).
    #[must_use]
    pub fn with_messages(self, messages: Vec<CustomMessage>) -> Self {
        Self { messages, ..self }
    }
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
#[non_exhaustive]
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

    /// Returns the name of the hook, see the [module](self#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The decision about the start of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    /// The step starts.
    Allow,
    /// The turn ends.
    Block {
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

    /// Returns the name of the hook, see the [module](self#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The decision about a message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDecision {
    /// Shows the original text.
    Show,
    /// Shows another text.
    Replace {
        /// The text.
        text: String,
    },
    /// Shows nothing. Tool calls of the message still run.
    Suppress {
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
///         CompactDecision::Replace { summary, first_kept: None }
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

    /// Returns the name of the hook, see the [module](self#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The decision about a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactDecision {
    /// The model writes the summary.
    Default,
    /// The context stays unchanged. If it is too long, the provider rejects the request and the turn ends.
    Cancel {
        /// The reason, for the user.
        reason: String,
    },
    /// The hook's summary is used without a request to the model. A too long summary is truncated.
    Replace {
        /// The summary for the model.
        summary: String,
        /// The first kept entry, if not the suggested one: one of [`PendingCompaction::cut_points`].
        first_kept: Option<EntryId>,
    },
}

/// A refusal: the action does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
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
    pub fn new(scope: RefusalScope, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), scope }
    }

    /// Creates a refusal that ends the turn with an error that contains the reason.
    pub fn for_turn(reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::Turn, reason)
    }

    /// Creates a refusal that ends the turn without an error and removes the turn from the context.
    pub fn for_discarded_turn(reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::DiscardedTurn, reason)
    }

    /// Adds the name of the hook that refused.
    pub(crate) fn attribute_to(self, by: impl Into<String>) -> AttributedRefusal {
        let Self { reason, scope } = self;
        AttributedRefusal { by: by.into(), reason, scope }
    }
}

/// A refusal with the name of the hook that refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributedRefusal {
    /// The name of the hook.
    pub by: String,
    /// The reason. The model sees it if the turn continues, otherwise the user.
    pub reason: String,
    /// The amount of work that ends.
    pub scope: RefusalScope,
}
