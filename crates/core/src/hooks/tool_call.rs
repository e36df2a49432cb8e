//! Before a tool runs, whether it may, and after it has run.

use std::time::Duration;

use async_trait::async_trait;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ExtensionName;

use super::{CancellationToken, Refusal, RefusalScope};
use crate::tool::ToolOutput;

/// A tool is about to run. There is an example at the [module](super).
#[async_trait]
pub trait BeforeToolExecute: Send + Sync {
    /// Decides what becomes of the call. An ordered hook may be asked a second time when a later one changed the
    /// arguments; then only a refusal counts. Dropped unanswered when somebody before it has refused meanwhile, and when
    /// all hooks together took longer than [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget), beside what
    /// each may take of [its own time](Self::decision_time).
    async fn before_tool_execute(&self, cancel: &CancellationToken, call: &ToolCall) -> ToolDecision;

    /// The same about a call that an extension makes (see [`ExtensionToolRunner`](crate::ExtensionToolRunner)); whoever has nothing else to say
    /// about it decides as if the model had made it.
    async fn before_extension_call(
        &self,
        cancel: &CancellationToken,
        call: &ToolCall,
        _caller: &ExtensionName,
    ) -> ToolDecision {
        self.before_tool_execute(cancel, call).await
    }

    /// True if this is the hook of that extension, which is not asked about its own calls: it waits for them.
    fn belongs_to(&self, _extension: &ExtensionName) -> bool {
        false
    }

    /// Returns the name of the hook, for when it panics: it panicked, or its time was up.
    fn name(&self) -> &str {
        "a hook"
    }

    /// Its part in calls of this tool; `None` when it has none, and is not asked. Asked for again when a hook has
    /// another tool called.
    fn role(&self, _tool: &str) -> Option<HookRole> {
        Some(HookRole::Ordered)
    }

    /// Returns the time that the hook keeps itself for each question, after which it decides: what it takes of it is
    /// not part of [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget).
    fn decision_time(&self) -> Option<Duration> {
        None
    }

    /// True if it may answer calls of tools that nobody registered. While there is such a hook, a call of an unknown tool
    /// goes through the chain before the model is told that there is no such tool, and its arguments, an object, fit
    /// because there is nothing to hold them against.
    fn handles_unknown_tools(&self) -> bool {
        false
    }

    /// True if what it says in place of this tool counts without [`ApproveTool`](super::ApproveTool).
    fn bypasses_approval(&self, _tool: &str) -> bool {
        false
    }

    /// Its rewrite does not fit the tool's schema, or names a tool that cannot be called, so the call is blocked; `detail`
    /// says where.
    fn rewrite_refused(&self, _call: &ToolCall, _detail: &str) {}

    /// Its block, or its unfit rewrite, was what decided about the call: whether more shall follow from it than that.
    /// Here a hook that keeps failing can ask a person, for this is not under the budget.
    async fn after_block(&self, _cancel: &CancellationToken, _call: &ToolCall) -> AfterBlock {
        AfterBlock::GoOn
    }
}

/// The role of a hook in the chain over a tool call, see [`ToolChain`](crate::chain::ToolChain).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookRole {
    /// Asked in its turn with the arguments the one before left; may change them, answer in place of the tool, refuse.
    Ordered,
    /// Asked about the final arguments, beside all other gates; may only allow or refuse.
    Gate,
}

/// The consequence of a blocked call beside that it does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterBlock {
    /// The model is told, and the run goes on.
    GoOn,
    /// Nothing else of this run happens, as with [`RefusalScope::Run`].
    AbortAgent {
        /// The text for the user.
        reason: String,
    },
}

/// The decision of one hook about a tool call.
///
/// An answer has four shapes on its way: the line of an extension
/// ([`EventInterceptResponse`](haft_protocol::ext::EventInterceptResponse)), the decision that the line means
/// ([`ToolCallDecision`](haft_protocol::ext::ToolCallDecision)), this type, which every hook gives whatever is behind it,
/// and the [`Verdict`](crate::chain::Verdict) of all hooks together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolDecision {
    /// The call runs with the arguments that the hook was asked about.
    Allow,
    /// The call runs with other arguments, or another tool runs.
    Rewrite {
        /// The hook that changed the call.
        by: String,
        /// Another tool, which the model must be offered; `None` keeps the tool. The transcript keeps the call as the
        /// model made it.
        tool: Option<String>,
        /// An object that fits the tool's schema.
        args: RawJson,
    },
    /// The call does not run, and this is its result. Counts only when no other hook refuses.
    Respond {
        /// The hook that answers.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// The call does not run.
    Refuse(Refusal),
}

impl ToolDecision {
    /// Refuses the call alone: the model is told the reason, and the turn continues.
    pub fn block(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refuse(Refusal::new(RefusalScope::Call, by, reason))
    }
}

/// A tool call has passed the [chain](crate::chain::ToolChain) and is about to run. Approvers are asked one after the
/// other about what will run; the first that denies it decides. One that panics has allowed nothing.
///
/// A person may be behind one, so their time is their own and not part of
/// [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget). They are asked before a hook answers in place of a
/// tool, too, unless that hook [vouches](super::BeforeToolExecute::bypasses_approval) for it; what only hooks know, nobody is asked
/// about.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{ApproverDecision, ApproveTool, CancellationToken};
/// use haft_core::protocol::content::ToolCall;
///
/// /// Asks somebody, who is told with a word that it is no longer wanted.
/// struct Ask;
///
/// #[async_trait]
/// impl ApproveTool for Ask {
///     async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision {
///         let question = format!("Run {} with {}?", call.name, call.args);
///         match cancel.run_until_cancelled(yes_or_no(question)).await {
///             Some(true) => ApproverDecision::Approve,
///             Some(false) | None => ApproverDecision::Deny { by: "you".into(), reason: "the user said no".into() },
///         }
///     }
/// }
///
/// async fn yes_or_no(_question: String) -> bool {
///     true // show it, and wait for the answer
/// }
/// ```
#[async_trait]
pub trait ApproveTool: Send + Sync {
    /// Decides whether the call may run.
    async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision;

    /// True if this is the hook of that extension, which is not asked about its own calls: it waits for them.
    fn belongs_to(&self, _extension: &ExtensionName) -> bool {
        false
    }

    /// Returns the name of the approver, for when it panics.
    fn name(&self) -> &str {
        "a hook"
    }

    /// Its denial decided about the call: whether more shall follow from it than that. See
    /// [`BeforeToolExecute::blocked`](super::BeforeToolExecute::blocked).
    async fn after_denial(&self, _cancel: &CancellationToken, _call: &ToolCall) -> AfterBlock {
        AfterBlock::GoOn
    }
}

/// The decision about the final call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverDecision {
    /// It may, as far as this one is concerned.
    Approve,
    /// It may not.
    Deny {
        /// The approver that denies it.
        by: String,
        /// The text for the model.
        reason: String,
    },
}

/// A tool has run. A result that a hook failed to look at, by a panic or because the run was cancelled, is
/// withheld: it may have been there to redact it.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{AfterToolExecute, CancellationToken, FinishedCall, ResultDecision};
/// use haft_core::protocol::content::Content;
/// use haft_core::tool::ToolOutput;
///
/// /// The model is not shown what looks like a key.
/// struct Redact;
///
/// #[async_trait]
/// impl AfterToolExecute for Redact {
///     async fn after_tool_execute(
///         &self,
///         _: &CancellationToken,
///         _: &FinishedCall,
///         mut output: ToolOutput,
///     ) -> ResultDecision {
///         for block in &mut output.content {
///             if let Content::Text { text } = block {
///                 let words = text.split(' ').map(|word| if word.starts_with("sk-") { "[key]" } else { word });
///                 *text = words.collect::<Vec<_>>().join(" ");
///             }
///         }
///         output.into()
///     }
/// }
/// ```
#[async_trait]
pub trait AfterToolExecute: Send + Sync {
    /// Decides what the model is shown: `output`, or another.
    async fn after_tool_execute(
        &self,
        cancel: &CancellationToken,
        finished: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision;

    /// Returns the name of the hook: the session keeps who changed a result.
    fn name(&self) -> &str {
        "a hook"
    }
}

/// The input of [`AfterToolExecute`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedCall {
    /// The tool that ran and its arguments, as every gate approved them.
    pub call: ToolCall,
    /// The time it ran.
    pub took: Duration,
}

/// The decision about a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultDecision {
    /// The model is shown this.
    Show(ToolOutput),
    /// The result is withheld, and the turn ends.
    Refuse(Refusal),
}

impl From<ToolOutput> for ResultDecision {
    fn from(output: ToolOutput) -> Self {
        Self::Show(output)
    }
}
