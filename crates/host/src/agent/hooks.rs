//! Core's hooks for one extension: each sends one query to one extension and interprets the answer.
//!
//! Core defines the order, the chaining and the final check. The policy defines the effect of a failure.

mod approve;
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
    AgentStart, BeforeAgentStart, BeforeAssistantMessage, BeforeCompact, BeforeToolExecute, BeforeTurn,
    CompactDecision, MessageDecision, PromptSection, Refusal, ToolDecision, TurnDecision,
};
use haft_core::sanitize::strip_hidden_chars;
use haft_core::session::EntryId;
use haft_core::tool::DisplayText;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{
    AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision, CompactEntry,
    InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptBeforeCompact, InterceptKind,
    InterceptTurnStart, StopScope, TurnStartDecision, TurnStop,
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
        let by = self.name().to_string();
        match self.query(cancel, InterceptTurnStart { step }).await {
            Ok(TurnStartDecision::Allow) | Err(InterceptFailure { verdict: FailureEffect::Pass, .. }) => {
                TurnDecision::Allow
            }
            Ok(TurnStartDecision::Block { reason }) => {
                let reason = reason_or_default(reason, || format!("turn blocked by extension {by}"));
                TurnDecision::Block { by, reason }
            }
            Err(InterceptFailure { verdict: FailureEffect::Block, reason, .. }) => {
                TurnDecision::Block { by, reason }
            }
        }
    }
}

#[async_trait]
impl BeforeAssistantMessage for ManagedExtension {
    async fn before_assistant_message(&self, cancel: &CancellationToken, text: &str) -> MessageDecision {
        let by = self.name().to_string();
        match self.query(cancel, InterceptAssistantMessage { text: text.to_owned() }).await {
            Ok(AssistantMessageDecision::Show)
            | Err(InterceptFailure { verdict: FailureEffect::Pass, .. }) => MessageDecision::Show,
            Ok(AssistantMessageDecision::Replace { text }) => replace_message(self, text),
            Ok(AssistantMessageDecision::Suppress { reason }) => {
                let reason = reason_or_default(reason, || format!("message withheld by extension {by}"));
                MessageDecision::Suppress { by, reason }
            }
            Err(InterceptFailure { verdict: FailureEffect::Block, reason, .. }) => {
                MessageDecision::Suppress { by, reason }
            }
        }
    }
}

#[async_trait]
impl BeforeAgentStart for ManagedExtension {
    async fn before_agent_start(&self, cancel: &CancellationToken, start: &AgentStart) -> Vec<PromptSection> {
        let question = InterceptBeforeAgentStart {
            prompt: joined_text(&start.prompt),
            system_prompt: start.system_prompt.clone(),
        };
        let text = match self.query(cancel, question).await {
            Ok(BeforeAgentStartDecision::Append { text }) => text,
            Ok(BeforeAgentStartDecision::Whole { system_prompt }) => {
                appended_section(self, &system_prompt, &start.system_prompt)
            }
            Ok(BeforeAgentStartDecision::Unchanged) | Err(_) => String::new(),
        };
        let read = strip_hidden_chars(&text);
        if let Some(extension) = self.handle() {
            extension.reporter().report_hidden_text(read.hidden, "the section of the system prompt");
        }
        if read.text.trim().is_empty() {
            return Vec::new();
        }
        vec![PromptSection::of_extension(self.name().clone(), read.text)]
    }
}

#[async_trait]
impl BeforeCompact for ManagedExtension {
    async fn before_compact(
        &self,
        cancel: &CancellationToken,
        compacting: &PendingCompaction,
    ) -> CompactDecision {
        let by = self.name().to_string();
        match self.query(cancel, compact_question(compacting)).await {
            Ok(BeforeCompactDecision::Default) | Err(_) => CompactDecision::Default,
            Ok(BeforeCompactDecision::Cancel { reason }) => {
                let reason = reason_or_default(reason, || "no reason given".to_owned());
                CompactDecision::Cancel { by, reason }
            }
            Ok(BeforeCompactDecision::Replace { summary, first_kept }) => {
                let read = strip_hidden_chars(&summary);
                if let Some(extension) = self.handle() {
                    extension.reporter().report_hidden_text(read.hidden, "the summary");
                }
                let summary = read.text.into_owned();
                match first_kept.as_deref().map(EntryId::parse) {
                    None => CompactDecision::Replace { by, summary, first_kept: None },
                    Some(Some(first)) => CompactDecision::Replace { by, summary, first_kept: Some(first) },
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
}

/// Returns the decision about a message that the extension rewrote. A gate can only allow or block, so a gate
/// must not send a text.
fn replace_message(entry: &ManagedExtension, text: String) -> MessageDecision {
    let by = entry.name().to_string();
    let hook = InterceptKind::AssistantMessage;
    let granted = entry.spec.permissions.as_ref();
    if granted.is_none_or(|granted| granted.may_change(hook)) || !is_up(Defense::Permissions) {
        return MessageDecision::Replace { by, text };
    }
    let detail = "replaced the text, but is granted only the role `gate`".to_owned();
    entry.report_hook_error(&format!("assistant_message intercept: {detail}"));
    let reason = entry.intercept_failure(hook, &CallError::BadResponse { detail }).reason;
    MessageDecision::Suppress { by, reason }
}

/// Returns the section that a whole prompt adds to the prompt in the request. The prompt contains sections of
/// other extensions, so nothing may be removed from it.
fn appended_section(entry: &ManagedExtension, whole: &str, asked: &str) -> String {
    if let Some(added) = whole.strip_prefix(asked) {
        return added.trim().to_owned();
    }
    entry.report_hook_error(
        "before_agent_start intercept: the system_prompt does not begin with the prompt in the request; send \
         append_system_prompt instead",
    );
    String::new()
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
        ToolDecision::block(names::HAFT, reason)
    }

    fn name(&self) -> &str {
        names::HAFT
    }
}

/// Returns the end of a turn that an extension requests.
fn refuse_turn(by: &ExtensionName, TurnStop { scope, reason }: TurnStop) -> Refusal {
    let reason = reason_or_default(reason, || format!("turn ended by extension {by}"));
    match scope {
        StopScope::Turn => Refusal::for_turn(by.to_string(), reason),
        StopScope::Discard => Refusal::for_discarded_turn(by.to_string(), reason),
    }
}

/// Returns a text for the person; `None` if it is empty.
fn display_text(by: &ExtensionName, text: &str, limit: usize) -> Option<DisplayText> {
    (!text.is_empty()).then(|| DisplayText { by: by.clone(), text: truncate_text(text, limit) })
}

fn reason_or_default(reason: String, default: impl FnOnce() -> String) -> String {
    if reason.trim().is_empty() { default() } else { reason }
}
