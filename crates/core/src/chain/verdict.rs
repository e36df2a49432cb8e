//! What the chain comes to, and what changed on the way.

use haft_protocol::RawJson;
use haft_protocol::defence::{Defence, is_up};

use crate::hooks::ToolDecision;
use crate::tool::ToolOutput;

/// What becomes of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs with these arguments.
    Run {
        /// Another tool than the model called.
        tool: Option<String>,
        /// What every hook saw last.
        args: RawJson,
    },
    /// It does not run; a hook answered it and nobody objected.
    Respond {
        /// Who answered.
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
    /// Neither it nor the rest of the turn runs.
    AbortTurn {
        /// Who aborted.
        by: String,
        /// What the user is told.
        reason: String,
    },
    /// Neither it nor the rest of the turn runs, and nothing of the turn stays in the context.
    HardAbort {
        /// Who aborted.
        by: String,
        /// What the user is told.
        reason: String,
    },
    /// Neither it nor anything else of this run happens, and the program that runs the agent should end.
    AbortAgent {
        /// Who aborted.
        by: String,
        /// What the user is told.
        reason: String,
    },
}

impl Verdict {
    /// What a refusal does to the call; `None` for what is no refusal.
    pub(super) fn refused(decision: ToolDecision) -> Option<Self> {
        match decision {
            ToolDecision::Block { by, reason } => Some(Self::Block { by, reason }),
            ToolDecision::AbortTurn { by, reason } => Some(Self::AbortTurn { by, reason }),
            ToolDecision::HardAbort { by, reason } => Some(Self::HardAbort { by, reason }),
            ToolDecision::AbortAgent { by, reason } => Some(Self::AbortAgent { by, reason }),
            ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => None,
        }
    }

    /// Whether [approvers](crate::hooks::ApproveTool) are asked before it counts. `known`: there is such a tool;
    /// `vouched`: the hook that answered in its place vouches for that.
    pub fn needs_approval(&self, known: bool, vouched: bool) -> bool {
        match self {
            Self::Run { .. } => known,
            Self::Respond { .. } => known && !vouched && is_up(Defence::ResponseApproval),
            Self::Block { .. }
            | Self::AbortTurn { .. }
            | Self::HardAbort { .. }
            | Self::AbortAgent { .. } => false,
        }
    }
}

/// One rewrite: who changed what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Who.
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
