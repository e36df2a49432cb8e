//! Whether a call whose every word is settled may run.

use async_trait::async_trait;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ExtensionName;

use super::{AfterBlock, CancellationToken};

/// A tool call has passed the [chain](crate::chain::ToolChain) and is about to run. Approvers are asked one after the
/// other about what will run; the first that denies it decides. One that panics has allowed nothing.
///
/// A person may be behind one, so their time is their own and not part of
/// [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget). They are asked before a hook answers in place of a
/// tool, too, unless that hook [vouches](super::BeforeToolExecute::vouches) for it; what only hooks know, nobody is asked
/// about.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{Approval, ApproveTool, CancellationToken};
/// use haft_core::protocol::content::ToolCall;
///
/// /// Asks somebody, who is told with a word that it is no longer wanted.
/// struct Ask;
///
/// #[async_trait]
/// impl ApproveTool for Ask {
///     async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> Approval {
///         let question = format!("Run {} with {}?", call.name, call.args);
///         match cancel.run_until_cancelled(yes_or_no(question)).await {
///             Some(true) => Approval::Approve,
///             Some(false) | None => Approval::Deny { by: "you".into(), reason: "the user said no".into() },
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
    async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> Approval;

    /// Whether this is the hook of that extension, which is not asked about its own calls: it waits for them.
    fn is_of(&self, _extension: &ExtensionName) -> bool {
        false
    }

    /// Who this is, where the hook cannot say so itself because it panicked.
    fn name(&self) -> &str {
        "a hook"
    }

    /// Its denial decided about the call: whether more shall follow from it than that. See
    /// [`BeforeToolExecute::blocked`](super::BeforeToolExecute::blocked).
    async fn denied(&self, _cancel: &CancellationToken, _call: &ToolCall) -> AfterBlock {
        AfterBlock::GoOn
    }
}

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It may, as far as this one is concerned.
    Approve,
    /// It may not.
    Deny {
        /// Who denies it.
        by: String,
        /// What the model is told.
        reason: String,
    },
}
