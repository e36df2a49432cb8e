//! `before_compact`: an extension cancels a compaction or writes the summary itself.
//!
//! ```json
//! {"type":"event_intercept","id":"5","event":"before_compact","reason":"threshold","tokens_before":180000,"window":200000,"first_kept":"0000000000000002","entries":[{"id":"0000000000000001","text":"[user]\nfix it","may_begin":true},{"id":"0000000000000002","text":"[assistant]\ndone","may_begin":true}]}
//! {"type":"event_intercept_response","id":"5","summary":"The user wanted it fixed.","first_kept":"0000000000000002"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::event::CompactReason;
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;

/// Before the conversation is compacted to fit into the context window. The deadline is that of a
/// tool call, because the extension may ask a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeCompact {
    /// The reason for the compaction.
    pub reason: CompactReason,
    /// The user's instructions for the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The tokens in the context, partly estimated.
    pub tokens_before: u64,
    /// The size of the context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The summary of an earlier compaction: the conversation before the entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_summary: Option<String>,
    /// The files that the summarized part read, including earlier summarized parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    /// The files that these parts changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// The first entry that stays verbatim; absent if the summary replaces all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<String>,
    /// The conversation, oldest first.
    pub entries: Vec<CompactEntry>,
}

/// One message of the conversation before a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompactEntry {
    /// The id of the entry in the session.
    pub id: String,
    /// The message as text. Long tool results and arguments are cut in the middle; a word replaces
    /// an image.
    pub text: String,
    /// True if the kept part can begin with this entry: it is not a tool result, and no earlier
    /// call lacks its result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_begin: bool,
}

/// The decision about the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeCompactDecision {
    /// The model writes the summary.
    Default,
    /// Cancels the compaction.
    Cancel {
        /// The text for the user.
        reason: String,
    },
    /// Uses this summary without a request to a model.
    Replace {
        /// The new summary for the model; not empty.
        summary: String,
        /// The first kept entry, if it differs from the suggested one: an entry with `may_begin`.
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
