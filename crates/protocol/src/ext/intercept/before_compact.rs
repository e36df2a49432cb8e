//! `before_compact`: the conversation is about to be summed up. The extension may refuse, or write the summary itself.
//!
//! ```json
//! {"type":"event_intercept","id":"5","event":"before_compact","reason":"threshold","tokens_before":180000,"window":200000,"first_kept":"0000000000000002","entries":[{"id":"0000000000000001","text":"[user]\nfix it","may_begin":true},{"id":"0000000000000002","text":"[assistant]\ndone","may_begin":true}]}
//! {"type":"event_intercept_response","id":"5","summary":"The user wanted it fixed.","first_kept":"0000000000000002"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::event::CompactReason;
use crate::ext::answer::AnswerError;
use crate::ids::RequestId;

/// The conversation is about to be summed up, so that it fits into the model's window. Answered within the time of a
/// tool call, since a model may have to be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterceptBeforeCompact {
    /// Why.
    pub reason: CompactReason,
    /// The user's instructions for the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Tokens of the context now, partly estimated.
    pub tokens_before: u64,
    /// The number of tokens that the model can read and write in one request, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The summary of an earlier compaction: it stands for what was before the entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_summary: Option<String>,
    /// Files that were read by what is summed up, and by what that had summed up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    /// Files that were changed, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// The first of the entries that is still sent word for word; absent if the summary stands for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<String>,
    /// The conversation, oldest first.
    pub entries: Vec<CompactEntry>,
}

/// One message of a conversation that is about to be summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompactEntry {
    /// Its name in the session.
    pub id: String,
    /// The message as text. Long results and arguments of tools are cut in the middle; a picture is a word.
    pub text: String,
    /// The kept part may begin with it: it is no tool's result, and no call waits for one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_begin: bool,
}

/// The decision about the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeCompactDecision {
    /// The model sums it up.
    Default,
    /// It stays as it is.
    Cancel {
        /// The text for the user.
        reason: String,
    },
    /// This is the summary, and no model is asked.
    Replace {
        /// The summary for the model from here on; not empty.
        summary: String,
        /// The first entry that is kept, if not the suggested one: an entry that says `may_begin`.
        first_kept: Option<String>,
    },
}

impl InterceptHook for InterceptBeforeCompact {
    type Decision = BeforeCompactDecision;

    const KIND: InterceptKind = InterceptKind::BeforeCompact;

    fn read(response: EventInterceptResponse) -> Result<BeforeCompactDecision, AnswerError> {
        Ok(if response.is_blocking() {
            BeforeCompactDecision::Cancel { reason: response.reason }
        } else if response.summary.trim().is_empty() {
            BeforeCompactDecision::Default
        } else {
            BeforeCompactDecision::Replace { summary: response.summary, first_kept: response.first_kept }
        })
    }

    fn respond(decision: BeforeCompactDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            BeforeCompactDecision::Default => {}
            BeforeCompactDecision::Cancel { reason } => {
                response.block = Some(true);
                response.reason = reason;
            }
            BeforeCompactDecision::Replace { summary, first_kept } => {
                response.summary = summary;
                response.first_kept = first_kept;
            }
        }
        response
    }
}
