//! The payloads of events, under PicoClaw's names.

use serde::{Deserialize, Serialize};

use haft_protocol::RawJson;

macro_rules! payloads {
    ($($(#[$doc:meta])* $payload:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        /// The user's message.
        user_message: String,
        /// The number of images and files in the message.
        media_count: usize,
        /// The channel: `cli`. Sent for PicoClaw up to 0.2.6.
        channel: String,
        /// The conversation on the channel: `direct`. Sent for PicoClaw up to 0.2.6.
        #[serde(rename = "ChatID")]
        chat_id: String,
    }

    /// haft sends a request to the model.
    LlmRequest {
        /// The model.
        model: String,
        /// The number of messages, including the system prompt.
        messages_count: usize,
        /// The number of tools in the request.
        tools_count: usize,
        /// The output limit in tokens; 0 for the default of the provider.
        max_tokens: u64,
        /// The temperature; 0 for the default of the provider.
        temperature: f64,
    }

    /// A piece of the answer arrived. PicoClaw never sends this event.
    LlmDelta {
        /// The length of the text in bytes.
        content_delta_len: usize,
        /// The length of the reasoning in bytes.
        reasoning_delta_len: usize,
    }

    /// The model has answered.
    LlmResponded {
        /// The length of the text in bytes.
        content_len: usize,
        /// The number of tool calls.
        tool_calls: usize,
        /// True if the answer contains reasoning.
        has_reasoning: bool,
    }

    /// haft repeats a failed request to the model.
    LlmRetry {
        /// The number of the attempt, counted from 1.
        attempt: u32,
        /// The maximum number of attempts.
        max_retries: u32,
        /// The kind of failure: `timeout`, `rate_limit`, `context_limit`.
        reason: String,
        /// The error message.
        error: String,
        /// The delay before the attempt, in nanoseconds.
        backoff: u64,
    }

    /// A part of the conversation was dropped to free context.
    ContextCompress {
        /// The reason: `proactive_budget`, `llm_retry` or `summarize`.
        reason: String,
        /// The number of dropped messages.
        dropped_messages: usize,
        /// The number of remaining messages.
        remaining_messages: usize,
    }

    /// The conversation was compacted.
    SessionSummarize {
        /// The number of summarized messages.
        summarized_messages: usize,
        /// The number of messages that are kept unchanged.
        kept_messages: usize,
        /// The length of the summary in bytes.
        summary_len: usize,
        /// True if some messages were too long to summarize.
        omitted_oversized: bool,
    }

    /// A tool begins.
    ToolExecStart {
        /// The tool.
        tool: String,
        /// The arguments; `null` if there are none.
        #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
        arguments: Option<RawJson>,
    }

    /// A tool has finished.
    ToolExecEnd {
        /// The tool.
        tool: String,
        /// The duration in nanoseconds.
        duration: u64,
        /// The length of the text for the model, in bytes.
        #[serde(rename = "ForLLMLen")]
        for_llm_len: usize,
        /// The length of the different text for the user, in bytes.
        for_user_len: usize,
        /// True if the call failed.
        is_error: bool,
        /// True if the result comes later.
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
        /// The number of messages.
        count: usize,
        /// The total length of the messages in bytes.
        total_content_len: usize,
    }

    /// A late result of a tool waits for its turn.
    FollowUpQueued {
        /// The tool.
        source_tool: String,
        /// The length in bytes.
        content_len: usize,
        /// The channel: `cli`. Sent for PicoClaw up to 0.2.6.
        channel: String,
        /// The conversation on the channel: `direct`. Sent for PicoClaw up to 0.2.6.
        #[serde(rename = "ChatID")]
        chat_id: String,
    }

    /// The turn was interrupted.
    InterruptReceived {
        /// The kind: `steering`, `graceful` or `hard_abort`.
        kind: String,
        /// The role of the author.
        role: String,
        /// The length of the message in bytes.
        content_len: usize,
        /// The number of queued messages.
        queue_depth: usize,
        /// The length of the hint for the model, in bytes.
        hint_len: usize,
    }

    /// A part of the turn was given to a sub-agent.
    SubTurnSpawn {
        /// The id of the agent.
        #[serde(rename = "AgentID")]
        agent_id: String,
        /// The task.
        label: String,
        /// The parent turn.
        #[serde(rename = "ParentTurnID")]
        parent_turn_id: String,
    }

    /// The sub-agent finished.
    SubTurnEnd {
        /// The id of the agent.
        #[serde(rename = "AgentID")]
        agent_id: String,
        /// The status, as in `turn_end`.
        status: String,
    }

    /// The sub-agent's result reached the turn.
    SubTurnResultDelivered {
        /// The channel.
        target_channel: String,
        /// The conversation on the channel.
        #[serde(rename = "TargetChatID")]
        target_chat_id: String,
        /// The length in bytes.
        content_len: usize,
    }

    /// The sub-agent's result came too late.
    SubTurnOrphan {
        /// The parent turn.
        #[serde(rename = "ParentTurnID")]
        parent_turn_id: String,
        /// The child turn.
        #[serde(rename = "ChildTurnID")]
        child_turn_id: String,
        /// The reason why the result was too late.
        reason: String,
    }

    /// An error occurred.
    ErrorEvent {
        /// The stage: `llm`, `hook.before_llm`.
        stage: String,
        /// The error message.
        message: String,
    }
}
