//! The hook traits: one hook, one trait, one method. A decision is an enum.
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
//!             true => ToolDecision::Block { by: "careful".into(), reason: "no deleting".into() },
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

use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::RawJson;
use haft_protocol::content::{Content, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
pub use tokio_util::sync::CancellationToken;

use crate::compact::Compacting;
use crate::session::EntryId;
use crate::tool::{Tool, ToolOutput};

/// A prompt is about to be worked on.
#[async_trait]
pub trait BeforeAgentStart: Send + Sync {
    /// Adds sections to the system prompt.
    async fn before_agent_start(&self, cancel: &CancellationToken, start: &AgentStart) -> Vec<PromptSection>;
}

/// What [`BeforeAgentStart`] is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStart {
    /// What the user said.
    pub prompt: Vec<Content>,
    /// The system prompt as it stands, sections of earlier hooks included.
    pub system_prompt: String,
}

/// A section that somebody else than haft adds to the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    /// Who adds it; the section is headed by this name.
    pub owner: String,
    /// Its text.
    pub text: String,
}

/// The model is about to be called.
#[async_trait]
pub trait BeforeTurn: Send + Sync {
    /// Decides whether the turn goes on. `step` is counted from 1 within one prompt.
    async fn before_turn(&self, cancel: &CancellationToken, step: u32) -> TurnDecision;
}

/// Whether the turn goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    /// It does.
    Allow,
    /// It ends here.
    Block {
        /// Who blocked it.
        by: String,
        /// What the user is told.
        reason: String,
    },
}

/// A tool is about to run.
#[async_trait]
pub trait BeforeToolExecute: Send + Sync {
    /// Decides what becomes of the call. An ordered hook may be asked a second time when a later one changed the
    /// arguments; then only a refusal counts. Dropped unanswered when somebody before it has refused meanwhile, and when
    /// all hooks together took longer than [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget).
    async fn before_tool_execute(&self, cancel: &CancellationToken, call: &ToolCall) -> ToolDecision;

    /// The same about a call that an extension makes (see [`Caller`](crate::Caller)); whoever has nothing else to say
    /// about it decides as if the model had made it.
    async fn before_extension_call(
        &self,
        cancel: &CancellationToken,
        call: &ToolCall,
        _caller: &ExtensionName,
    ) -> ToolDecision {
        self.before_tool_execute(cancel, call).await
    }

    /// Whether this is the hook of that extension, which is not asked about its own calls: it waits for them.
    fn is_of(&self, _extension: &ExtensionName) -> bool {
        false
    }

    /// Who this is, where the hook cannot say so itself: it panicked, or its time was up.
    fn name(&self) -> &str {
        "a hook"
    }

    /// Its part in calls of this tool; `None` when it has none, and is not asked.
    fn role(&self, _tool: &str) -> Option<HookRole> {
        Some(HookRole::Ordered)
    }

    /// Its rewrite does not fit the tool's schema, so the call is blocked; `detail` says where.
    fn rewrite_refused(&self, _call: &ToolCall, _detail: &str) {}

    /// Its block, or its unfit rewrite, was what decided about the call: whether more shall follow from it than that.
    /// Here a hook that keeps failing can ask a person, for this is not under the budget.
    async fn blocked(&self, _cancel: &CancellationToken, _call: &ToolCall) -> AfterBlock {
        AfterBlock::GoOn
    }
}

/// How a hook takes part in the chain over a tool call, see [`ToolChain`](crate::chain::ToolChain).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookRole {
    /// Asked in its turn with the arguments the one before left; may change them, answer in place of the tool, refuse.
    Ordered,
    /// Asked about the final arguments, beside all other gates; may only allow or refuse.
    Gate,
}

/// What follows from a blocked call beside that it does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterBlock {
    /// The model is told, and the run goes on.
    GoOn,
    /// Nothing else of this run happens, as with [`ToolDecision::AbortAgent`].
    AbortAgent {
        /// What the user is told.
        reason: String,
    },
}

/// What becomes of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolDecision {
    /// It runs with the arguments that were asked about.
    Allow,
    /// It runs with these.
    Rewrite {
        /// Who changed them.
        by: String,
        /// An object that fits the tool's schema.
        args: RawJson,
    },
    /// It does not run; this is its result. Counts only when no other hook blocks.
    Respond {
        /// Who answers.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// It does not run.
    Block {
        /// Who blocked it.
        by: String,
        /// What the model is told.
        reason: String,
    },
    /// It does not run, and neither does anything else of this turn.
    AbortTurn {
        /// Who aborts.
        by: String,
        /// What the user is told.
        reason: String,
    },
    /// It does not run, neither does anything else of this run, and the program that runs the agent should end: what
    /// keeps watch over it is broken. The run fails with [`TurnErrorKind::Stopped`](crate::error::TurnErrorKind::Stopped).
    AbortAgent {
        /// Who aborts.
        by: String,
        /// What the user is told.
        reason: String,
    },
}

/// A tool has run. A result that a hook failed to look at, by a panic or because the run was cancelled, is
/// withheld: it may have been there to redact it.
#[async_trait]
pub trait AfterToolExecute: Send + Sync {
    /// Returns the result the model is shown: `output`, or another.
    async fn after_tool_execute(
        &self,
        cancel: &CancellationToken,
        call: &ToolCall,
        output: ToolOutput,
    ) -> ToolOutput;

    /// Who this is: the session keeps who changed a result.
    fn name(&self) -> &str {
        "a hook"
    }
}

/// The user is about to see what the model said. Asked for every message with text. While there is such a hook,
/// deltas of text and thinking are held back until it has decided; a message that was replaced or suppressed takes
/// its thinking along.
#[async_trait]
pub trait BeforeAssistantMessage: Send + Sync {
    /// Decides what the user sees. The transcript keeps the original.
    async fn before_assistant_message(&self, cancel: &CancellationToken, text: &str) -> MessageDecision;
}

/// What the user sees of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDecision {
    /// The text that was asked about.
    Show,
    /// This instead.
    Replace {
        /// Who replaced it.
        by: String,
        /// The text.
        text: String,
    },
    /// Nothing. Tool calls of the message still run.
    Suppress {
        /// Who suppressed it.
        by: String,
        /// What the user is told instead.
        reason: String,
    },
}

/// The context is about to be summed up, so that it fits into the model's window. All such hooks are asked; a refusal
/// counts whoever says it, and of several replacements the first. One that panics has said nothing.
#[async_trait]
pub trait BeforeCompact: Send + Sync {
    /// Decides whether it is, and what the summary says.
    async fn before_compact(&self, cancel: &CancellationToken, compacting: &Compacting) -> CompactDecision;

    /// It wanted to keep what is kept from this entry on. The kept part cannot begin there, so what it decided does not
    /// count.
    fn cut_refused(&self, _first_kept: EntryId) {}
}

/// What becomes of a context that is about to be summed up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactDecision {
    /// The model sums it up.
    Default,
    /// It stays as it is. If it is too long, the provider will say so, and the turn ends.
    Cancel {
        /// Who wants that.
        by: String,
        /// What the user is told.
        reason: String,
    },
    /// The summary is this, and no model is asked. Cut if it is longer than a summary may be.
    Replace {
        /// Who wrote it.
        by: String,
        /// What the model is told.
        summary: String,
        /// What is kept begins here, and not where it was suggested: one of [`Compacting::cut_points`].
        first_kept: Option<EntryId>,
    },
}

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
    /// Asked for every tool call.
    pub before_tool_execute: Vec<Arc<dyn BeforeToolExecute>>,
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
        self.before_tool_execute.extend(other.before_tool_execute);
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
            .field("before_tool_execute", &self.before_tool_execute.len())
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
