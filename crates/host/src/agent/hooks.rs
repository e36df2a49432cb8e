//! Core's hooks for one extension: each sends one query to one extension and interprets the answer.
//!
//! Core defines the order, the chaining and the final check. The policy defines the effect of a failure.

mod approve;
mod before_agent_start;
mod before_provider_request;
mod before_settle;
mod context;
mod input;
mod message_end;
mod session_change;
mod tool_call;
mod tool_result;
mod user_bash;

use std::collections::HashSet;

use async_trait::async_trait;
use haft_core::compact::{PendingCompaction, entry_text};
use haft_core::hooks::{
    BeforeAssistantMessage, BeforeCompact, BeforeToolExecute, BeforeTurn, CompactDecision, MessageDecision,
    Refusal, ToolDecision, TurnDecision,
};
use haft_core::sanitize::strip_hidden_chars;
use haft_core::session::EntryId;
use haft_core::tool::DisplayText;
use haft_protocol::content::ToolCall;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{
    AssistantMessageDecision, BeforeCompactDecision, CompactEntry, InterceptAssistantMessage,
    InterceptBeforeCompact, InterceptKind, InterceptTurnStart, StopScope, TurnStartDecision, TurnStop,
};
use haft_protocol::ids::ExtensionName;
use haft_protocol::names;
use haft_protocol::text::truncate_text;
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::{InterceptFailure, ManagedExtension};
use crate::agent::policy::FailureEffect;
use crate::wire::fault::CallError;

pub(crate) use approve::ApproveHook;
pub(crate) use tool_call::ToolCallHook;
pub(crate) use tool_result::ToolResultHook;

#[async_trait]
impl BeforeTurn for ManagedExtension {
    async fn before_turn(&self, cancel: &CancellationToken, step: u32) -> TurnDecision {
        match self.query(cancel, InterceptTurnStart { step }).await {
            Ok(TurnStartDecision::Allow) | Err(InterceptFailure { verdict: FailureEffect::Pass, .. }) => {
                TurnDecision::Allow
            }
            Ok(TurnStartDecision::Block { reason }) => {
                let reason =
                    reason_or_default(reason, || format!("turn blocked by extension {}", self.name()));
                TurnDecision::Block { reason }
            }
            Err(InterceptFailure { verdict: FailureEffect::Block, reason, .. }) => {
                TurnDecision::Block { reason }
            }
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

#[async_trait]
impl BeforeAssistantMessage for ManagedExtension {
    async fn before_assistant_message(&self, cancel: &CancellationToken, text: &str) -> MessageDecision {
        match self.query(cancel, InterceptAssistantMessage { text: text.to_owned() }).await {
            Ok(AssistantMessageDecision::Show)
            | Err(InterceptFailure { verdict: FailureEffect::Pass, .. }) => MessageDecision::Show,
            Ok(AssistantMessageDecision::Replace { text }) => replace_message(self, text),
            Ok(AssistantMessageDecision::Suppress { reason }) => {
                let default = || format!("message withheld by extension {}", self.name());
                let reason = reason_or_default(reason, default);
                MessageDecision::Suppress { reason }
            }
            Err(InterceptFailure { verdict: FailureEffect::Block, reason, .. }) => {
                MessageDecision::Suppress { reason }
            }
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

#[async_trait]
impl BeforeCompact for ManagedExtension {
    async fn before_compact(
        &self,
        cancel: &CancellationToken,
        compacting: &PendingCompaction,
    ) -> CompactDecision {
        match self.query(cancel, compact_question(compacting)).await {
            Ok(BeforeCompactDecision::Default) | Err(_) => CompactDecision::Default,
            Ok(BeforeCompactDecision::Cancel { reason }) => {
                let reason = reason_or_default(reason, || "no reason given".to_owned());
                CompactDecision::Cancel { reason }
            }
            Ok(BeforeCompactDecision::Replace { summary, first_kept }) => {
                let read = strip_hidden_chars(&summary);
                if let Some(extension) = self.handle() {
                    extension.reporter().report_hidden_text(read.hidden, "the summary");
                }
                let summary = read.text.into_owned();
                match first_kept.as_deref().map(EntryId::parse) {
                    None => CompactDecision::Replace { summary, first_kept: None },
                    Some(Some(first)) => CompactDecision::Replace { summary, first_kept: Some(first) },
                    Some(None) => {
                        report_invalid_cut(self, first_kept.as_deref().unwrap_or_default());
                        CompactDecision::Default
                    }
                }
            }
        }
    }

    fn cut_refused(&self, first_kept: EntryId) {
        report_invalid_cut(self, &first_kept.to_string());
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

/// Returns the decision about a message that the extension rewrote. A gate can only allow or block, so a gate
/// must not send a text.
fn replace_message(entry: &ManagedExtension, text: String) -> MessageDecision {
    let hook = InterceptKind::AssistantMessage;
    let granted = entry.spec.permissions.as_ref();
    if granted.is_none_or(|granted| granted.may_change(hook)) || !is_up(Defense::Permissions) {
        return MessageDecision::Replace { text };
    }
    let detail = "replaced the text, but is granted only the role `gate`".to_owned();
    entry.report_hook_error(&format!("assistant_message intercept: {detail}"));
    let reason = entry.intercept_failure(hook, &CallError::BadResponse { detail }).reason;
    MessageDecision::Suppress { reason }
}

fn report_invalid_cut(entry: &ManagedExtension, first_kept: &str) {
    entry.report_hook_error(&format!(
        "before_compact intercept: {first_kept:?} is not a valid first entry to keep, so the summary is not used; name an entry \
         with may_begin, or omit first_kept"
    ));
}

fn compact_question(compacting: &PendingCompaction) -> InterceptBeforeCompact {
    let points: HashSet<EntryId> = compacting.cut_points().collect();
    let entries = compacting.entries.iter().filter_map(|entry| {
        let (id, may_begin) = (entry.id.to_string(), points.contains(&entry.id));
        Some(CompactEntry { id, text: entry_text(entry)?, may_begin })
    });
    InterceptBeforeCompact {
        reason: compacting.reason,
        instructions: compacting.instructions.clone(),
        tokens_before: compacting.tokens_before,
        window: compacting.window,
        previous_summary: compacting.previous_summary.clone(),
        files_read: compacting.files_read.clone(),
        files_modified: compacting.files_modified.clone(),
        first_kept: compacting.first_kept.map(|id| id.to_string()),
        entries: entries.collect(),
    }
}

/// The hook before a tool call when the set of required extensions is unknown. Refuses every call.
pub(crate) struct DenyAllHook {
    /// See [`DiscoveredExtensions::blocked`](crate::DiscoveredExtensions::blocked).
    pub(crate) why: String,
}

#[async_trait]
impl BeforeToolExecute for DenyAllHook {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        let reason = format!("blocked: {}; the user was notified", self.why);
        ToolDecision::block(reason)
    }

    fn name(&self) -> &str {
        names::HAFT
    }
}

/// Returns the end of a turn that an extension requests.
fn refuse_turn(by: &ExtensionName, TurnStop { scope, reason }: TurnStop) -> Refusal {
    let reason = reason_or_default(reason, || format!("turn ended by extension {by}"));
    match scope {
        StopScope::Turn => Refusal::for_turn(reason),
        StopScope::Discard => Refusal::for_discarded_turn(reason),
    }
}

/// Returns a text for the person; `None` if it is empty.
fn display_text(by: &ExtensionName, text: &str, limit: usize) -> Option<DisplayText> {
    (!text.is_empty()).then(|| DisplayText::new(by.clone(), truncate_text(text, limit)))
}

fn reason_or_default(reason: String, default: impl FnOnce() -> String) -> String {
    if reason.trim().is_empty() { default() } else { reason }
}
