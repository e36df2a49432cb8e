//! `before_tree`: an extension allows or blocks that the session continues from another entry, or
//! summarizes the branch that it leaves.
//!
//! ```json
//! {"type":"event_intercept","id":"22","event":"before_tree","entry":"0000000000000001","leaf":"0000000000000003","summarize":true,"entries":[{"id":"0000000000000002","text":"[user]\nuse a lock"},{"id":"0000000000000003","text":"[assistant]\nIt deadlocks."}]}
//! {"type":"event_intercept_response","id":"22","summary":"A lock deadlocks."}
//! ```

use serde::{Deserialize, Serialize};

use super::before_compact::CompactEntry;
use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::{ExtensionName, RequestId};

/// Before the session continues from another entry. The deadline is that of a tool call, because
/// the extension may ask a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeTree {
    /// The entry that the next one will follow; absent for the beginning of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The current entry; absent at the beginning of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
    /// True if the model summarizes the branch, unless an extension does.
    pub summarize: bool,
    /// The instructions for that summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The extension that sent the command; absent for a command of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<ExtensionName>,
    /// The conversation that the session leaves, oldest first; empty if it leaves none.
    pub entries: Vec<CompactEntry>,
}

/// The decision about the move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeTreeDecision {
    /// The session continues from the entry.
    Continue,
    /// The session continues from the entry, with this summary of the branch that it leaves.
    Summarize {
        /// The summary for the model; not empty.
        summary: String,
    },
    /// The command fails.
    Block {
        /// The text for the person.
        reason: String,
    },
}

impl InterceptHook for InterceptBeforeTree {
    type Decision = BeforeTreeDecision;

    const KIND: InterceptKind = InterceptKind::BeforeTree;

    fn read(response: EventInterceptResponse) -> Result<BeforeTreeDecision, AnswerError> {
        Ok(if response.is_blocking() {
            BeforeTreeDecision::Block { reason: response.reason }
        } else if response.summary.trim().is_empty() {
            BeforeTreeDecision::Continue
        } else {
            BeforeTreeDecision::Summarize { summary: response.summary }
        })
    }

    fn respond(decision: BeforeTreeDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            BeforeTreeDecision::Continue => {}
            BeforeTreeDecision::Summarize { summary } => response.summary = summary,
            BeforeTreeDecision::Block { reason } => {
                (response.block, response.reason) = (Some(true), reason);
            }
        }
        response
    }
}
