//! The particulars of events, under PicoClaw's names.

use serde::{Deserialize, Serialize};

use crate::json::RawJson;

macro_rules! payloads {
    ($($(#[$doc:meta])* $payload:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "PascalCase", default)]
        pub struct $payload {
            $($(#[$field_doc])* pub $field: $type,)*
        })*
    };
}

payloads! {
    /// (same texts as in hook/event/kind.rs for each variant; the table on the page is generated
    /// from these)
    TurnStart {
        /// What the user asked.
        user_message: String,
        /// Images and files that came with it.
        media_count: usize,
        /// The channel: `cli`. As PicoClaw to 0.2.6 says it.
        channel: String,
        /// The conversation on the channel: `direct`. As PicoClaw to 0.2.6 says it.
        #[serde(rename = "ChatID")]
        chat_id: String,
    }

    /// haft sends a request to the model.
    LlmRequest {
        /// The model.
        model: String,
        /// Messages, the system prompt included.
        messages_count: usize,
        /// Tools that it is offered.
        tools_count: usize,
        /// The most tokens that it may write; 0 when that is left to the provider.
        max_tokens: u64,
        /// Its temperature; 0 when that is left to the provider.
        temperature: f64,
    }

    /// A piece of the answer arrived. PicoClaw never sends this event.
    LlmDelta {
        /// Bytes of text.
        content_delta_len: usize,
        /// Bytes of reasoning.
        reasoning_delta_len: usize,
    }

    /// The model has answered.
    LlmResponded {
        /// Bytes of text.
        content_len: usize,
        /// Tools that it calls.
        tool_calls: usize,
        /// True if it shows its reasoning.
        has_reasoning: bool,
    }

    /// haft repeats a failed request to the model.
    LlmRetry {
        /// Which try, from 1.
        attempt: u32,
        /// How many there can be.
        max_retries: u32,
        /// In a word: `timeout`, `rate_limit`, `context_limit`.
        reason: String,
        /// What failed.
        error: String,
        /// How long is waited before, in nanoseconds.
        backoff: u64,
    }

    /// A part of the conversation was dropped to free context.
    ContextCompress {
        /// `proactive_budget`, `llm_retry` or `summarize`.
        reason: String,
        /// Messages that are gone.
        dropped_messages: usize,
        /// Messages that are left.
        remaining_messages: usize,
    }

    /// The conversation was summed up.
    SessionSummarize {
        /// Messages that the summary stands for.
        summarized_messages: usize,
        /// Messages that stay word for word.
        kept_messages: usize,
        /// Bytes of the summary.
        summary_len: usize,
        /// True if messages were too long to be summed up.
        omitted_oversized: bool,
    }

    /// A tool begins.
    ToolExecStart {
        /// The tool.
        tool: String,
        /// Its arguments; `null` when there is nothing.
        #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
        arguments: Option<RawJson>,
    }

    /// A tool is over.
    ToolExecEnd {
        /// The tool.
        tool: String,
        /// Nanoseconds.
        duration: u64,
        /// Bytes that the model is shown.
        #[serde(rename = "ForLLMLen")]
        for_llm_len: usize,
        /// Bytes that the user is shown instead.
        for_user_len: usize,
        /// True if it failed.
        is_error: bool,
        /// True if its result comes later.
        #[serde(rename = "Async")]
        is_async: bool,
    }

    /// A tool call was skipped.
    ToolExecSkipped {
        /// The tool.
        tool: String,
        /// The reason.
        reason: String,
    }

    /// Steering messages joined the conversation.
    SteeringInjected {
        /// How many.
        count: usize,
        /// Their bytes.
        total_content_len: usize,
    }

    /// A late result of a tool waits for its turn.
    FollowUpQueued {
        /// The tool.
        source_tool: String,
        /// Bytes.
        content_len: usize,
        /// The channel: `cli`. As PicoClaw to 0.2.6 says it.
        channel: String,
        /// The conversation on the channel: `direct`. As PicoClaw to 0.2.6 says it.
        #[serde(rename = "ChatID")]
        chat_id: String,
    }

    /// The turn was interrupted.
    InterruptReceived {
        /// `steering`, `graceful` or `hard_abort`.
        kind: String,
        /// Whose message it was.
        role: String,
        /// Its bytes.
        content_len: usize,
        /// Messages that wait.
        queue_depth: usize,
        /// Bytes of what the model is told about it.
        hint_len: usize,
    }

    /// A part of the turn was given to a sub-agent.
    SubTurnSpawn {
        /// Which agent.
        #[serde(rename = "AgentID")]
        agent_id: String,
        /// What for.
        label: String,
        /// The turn that it is a part of.
        #[serde(rename = "ParentTurnID")]
        parent_turn_id: String,
    }

    /// The sub-agent finished.
    SubTurnEnd {
        /// Which agent.
        #[serde(rename = "AgentID")]
        agent_id: String,
        /// As of a turn.
        status: String,
    }

    /// The sub-agent's result reached the turn.
    SubTurnResultDelivered {
        /// The channel.
        target_channel: String,
        /// The conversation on the channel.
        #[serde(rename = "TargetChatID")]
        target_chat_id: String,
        /// Bytes.
        content_len: usize,
    }

    /// The sub-agent's result came too late.
    SubTurnOrphan {
        /// The turn that it was a part of.
        #[serde(rename = "ParentTurnID")]
        parent_turn_id: String,
        /// The turn that found it.
        #[serde(rename = "ChildTurnID")]
        child_turn_id: String,
        /// Why it was too late.
        reason: String,
    }

    /// An error occurred.
    ErrorEvent {
        /// Where: `llm`, `hook.before_llm`.
        stage: String,
        /// What went wrong.
        message: String,
    }
}
