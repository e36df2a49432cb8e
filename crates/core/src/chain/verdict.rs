//! What the chain comes to, and what changed on the way.

use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::defence::{Defence, is_up};

use crate::hooks::{Refusal, RefusalScope};
use crate::tool::ToolOutput;

/// The decision of all hooks together about a tool call: the last of the four shapes of an answer, see
/// [`ToolDecision`](crate::hooks::ToolDecision).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call runs.
    Run {
        /// Another tool than the model called.
        tool: Option<String>,
        /// The arguments that every hook saw last.
        args: RawJson,
    },
    /// The call does not run; a hook answered it and no hook refused.
    Respond {
        /// The hook that answered.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// The call does not run.
    Refuse(Refusal),
}

impl Verdict {
    /// True if [approvers](crate::hooks::ApproveTool) are asked before the verdict counts. `known`: the tool exists;
    /// `vouched`: the hook that answered in its place vouches for that.
    pub fn needs_approval(&self, known: bool, vouched: bool) -> bool {
        match self {
            Self::Run { .. } => known,
            Self::Respond { .. } => known && !vouched && is_up(Defence::ResponseApproval),
            Self::Refuse(_) => false,
        }
    }
}

/// The end of a [`ToolChain`](super::ToolChain).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The decision.
    pub verdict: Verdict,
    /// The hook that decided alone: by its refusal, its unfit rewrite, or its response.
    pub decided_by: Option<usize>,
    /// The call that the decision is about, if no hook refused: the one that a hook has answered, whatever later hooks
    /// made of it; otherwise the call as it stands.
    pub call: ChainCall,
    /// The changes of the call, in order.
    pub changes: Vec<Change>,
}

/// A call inside the chain: a tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainCall {
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: RawJson,
}

/// A rewritten call that cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The other tool cannot be called.
    Tool(String),
    /// The arguments do not fit the schema of the tool.
    Args(String),
}

impl Misfit {
    /// What is wrong, in words.
    pub fn detail(&self) -> &str {
        match self {
            Self::Tool(detail) | Self::Args(detail) => detail,
        }
    }

    /// The refusal of a call that a hook has rewritten to one that cannot run.
    pub(super) fn refusal(&self, by: String) -> Refusal {
        let reason = match self {
            Self::Tool(detail) => format!("{by} has another tool called: {detail}"),
            Self::Args(detail) => format!("arguments rewritten by {by} do not fit the tool: {detail}"),
        };
        Refusal::new(RefusalScope::Call, by, reason)
    }
}

/// One rewrite of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The hook that changed the call.
    pub by: String,
    /// The tool that the call is of from here on, if that is another.
    pub tool: Option<String>,
    /// JSON pointers of what is not as it was in the arguments; `""` is the whole.
    pub changed: Vec<String>,
    /// Those of them that somebody else had changed before, each with who that was.
    pub conflicts: Vec<Conflict>,
}

/// A field that two hooks changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// JSON pointer of the field.
    pub path: String,
    /// Who changed it first.
    pub first: String,
}
