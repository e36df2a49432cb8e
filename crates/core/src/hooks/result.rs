//! After a tool has run.

use std::time::Duration;

use async_trait::async_trait;
use haft_protocol::content::ToolCall;

use super::{CancellationToken, Refusal};
use crate::tool::ToolOutput;

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

    /// Who this is: the session keeps who changed a result.
    fn name(&self) -> &str {
        "a hook"
    }
}

/// What [`AfterToolExecute`] is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedCall {
    /// The tool that ran and its arguments, as every gate approved them.
    pub call: ToolCall,
    /// How long it ran.
    pub took: Duration,
}

/// What becomes of a result.
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
