//! Events of a run, as every front end sees them, under the names of zot's RPC mode. haft adds
//! events and changes none.

mod compaction;
mod failure;
mod fault;
mod host_call_error;
mod kind;
mod level;

pub use compaction::CompactReason;
pub use failure::{Advice, ErrorStage, RetryReason};
pub use fault::ExtensionFault;
pub use host_call_error::HostCallError;
pub use kind::AgentEventKind;
pub use level::NoteLevel;

use crate::content::ContentBlock;
use crate::ids::{ExtensionName, ToolCallId};
use crate::json::RawJson;
use crate::message::{AssistantBlock, Rfc3339Time, StopCause, TokenUsage};
use crate::tagged::tagged_enum;
use crate::thinking::ThinkingLevel;

tagged_enum! {
    /// Something that happened. Front ends print events and extensions observe them; the agent waits
    /// for neither.
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub enum AgentEvent = "AgentEvent" {
        /// The session of the run. `haft rpc` and `haft --json` send it as the first event of a run, and
        /// again if the run continues in another file. The library sends only the second.
        Session {
            /// The session's id.
            id: String,
            /// The session file, which exists after the first message; absent if the session is not
            /// recorded.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            path: Option<String>,
        },
        /// The session file was damaged and has been repaired. If the session continues in another
        /// file, `session` follows.
        SessionRepaired {
            /// The session's id from now on.
            id: String,
            /// The damage, and how it was repaired.
            message: String,
        },
        /// The project has extensions, settings or instructions, and the user does not trust it: haft
        /// uses none of them.
        TrustRequired {
            /// The project's directory.
            project: String,
            /// The parts that haft does not use: files and directories relative to the project, and
            /// `extension NAME`.
            skipped: Vec<String>,
            /// The next step for the user.
            message: String,
        },
        /// A run begins. The messages that start it follow.
        AgentStart,
        /// The user's message entered the transcript.
        UserMessage {
            /// Text and images.
            #[serde(with = "crate::content::shown")]
            #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::content::ShownContent<'static>>"))]
            content: Vec<ContentBlock>,
            /// The time, RFC 3339.
            time: Rfc3339Time,
            /// The entry of the session, for clients that continue from it or copy the session up to it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            entry: Option<String>,
        },
        /// A message of an extension or of a client entered the transcript. The model reads its content
        /// as a user message.
        CustomMessage {
            /// The extension.
            owner: String,
            /// The kind, defined by the extension.
            kind: String,
            /// Text and images.
            #[serde(with = "crate::content::shown")]
            #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::content::ShownContent<'static>>"))]
            content: Vec<ContentBlock>,
            /// True if the user sees the message.
            display: bool,
            /// Data of the extension, for programs: any JSON value.
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<RawJson>,
            /// The time, RFC 3339.
            time: Rfc3339Time,
        },
        /// The queued messages of the user changed. Lists all waiting messages, oldest first, as text; a word
        /// replaces each image.
        QueueUpdate {
            /// Messages for the next step of the current turn.
            steering: Vec<String>,
            /// Messages for the moment at which the agent would stop.
            follow_up: Vec<String>,
            /// Messages for the next prompt.
            next_turn: Vec<String>,
        },
        /// A step begins: one request to the model and the tool calls in its answer.
        TurnStart {
            /// The number of the step, counted from 1 in each prompt.
            step: u32,
        },
        /// haft sends a request to the model. Describes the request after all changes by hooks.
        ModelRequest {
            /// The number of the step.
            step: u32,
            /// The provider.
            provider: String,
            /// The model's id at the provider.
            model: String,
            /// The number of messages in the request.
            messages: u64,
            /// The number of tools in the request.
            tools: u64,
            /// The output limit in tokens, if a hook set it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            max_tokens: Option<u64>,
            /// The temperature, if a hook set it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            temperature: Option<f64>,
        },
        /// The model has answered. Describes the answer after all changes by hooks.
        ModelResponse {
            /// The length of the text in bytes.
            text_bytes: u64,
            /// The number of tool calls.
            tool_calls: u64,
            /// True if the answer contains reasoning.
            thinking: bool,
        },
        /// The model begins to answer.
        AssistantStart,
        /// A piece of the model's text. Held back while an interceptor can still change the answer.
        TextDelta {
            /// The next piece.
            delta: String,
        },
        /// A piece of the model's reasoning.
        ThinkingDelta {
            /// The next piece.
            delta: String,
        },
        /// The model begins to write a tool call.
        ToolUseStart {
            /// The id of the tool call.
            id: ToolCallId,
            /// The name of the tool.
            name: String,
        },
        /// A piece of the arguments of a tool call, as JSON text.
        ToolUseArgs {
            /// The id of the tool call.
            id: ToolCallId,
            /// The next piece.
            delta: String,
        },
        /// A tool call's arguments are complete.
        ToolUseEnd {
            /// The id of the tool call.
            id: ToolCallId,
        },
        /// Tokens and cost of this step.
        Usage {
            /// The usage of this step only.
            #[serde(flatten)]
            usage: TokenUsage,
            /// The total since the session began.
            cumulative: TokenUsage,
        },
        /// The answer that the user sees: the model's message, or its replacement by an extension.
        AssistantMessage {
            /// The content blocks, in order.
            content: Vec<AssistantBlock>,
            /// The time, RFC 3339.
            time: Rfc3339Time,
            /// The entry of the session, for clients that continue from it or copy the session up to it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            entry: Option<String>,
        },
        /// The model called a tool. All calls of one message are announced before the first one runs.
        ToolCall {
            /// The id of the tool call.
            id: ToolCallId,
            /// The name of the tool.
            name: String,
            /// The model's arguments; rewrites are reported by `tool_rewritten`.
            args: RawJson,
        },
        /// An extension or a hook changed the arguments of a tool call, or selected another tool.
        ToolRewritten {
            /// The id of the tool call.
            id: ToolCallId,
            /// The extension or hook that made the change.
            by: String,
            /// The new tool; absent if the tool is unchanged. The result keeps the name that the model
            /// used.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tool: Option<String>,
            /// The complete new arguments. For the call of an extension, shortened as in
            /// `host_call_start`.
            args: RawJson,
            /// JSON pointers to the changed arguments; `""` means all of them.
            changed: Vec<String>,
        },
        /// Two extensions or hooks changed the same argument of a tool call. The later change applies.
        ToolRewriteConflict {
            /// The id of the tool call.
            id: ToolCallId,
            /// The JSON pointer to the argument.
            path: String,
            /// The authors of the first and the second change.
            by: [String; 2],
        },
        /// An extension or a hook refused a tool call.
        ToolBlocked {
            /// The id of the tool call.
            id: ToolCallId,
            /// The extension or hook that refused the call.
            by: String,
            /// The reason, as the model reads it.
            reason: String,
        },
        /// haft skipped a tool call because the user interrupted or redirected the agent before it
        /// began. Its result follows.
        ToolSkipped {
            /// The id of the tool call.
            id: ToolCallId,
            /// The name of the tool.
            name: String,
            /// The reason.
            reason: String,
        },
        /// A tool starts. All gates and approvers have allowed the call.
        ToolStart {
            /// The id of the tool call.
            id: ToolCallId,
            /// The tool that runs.
            name: String,
            /// The arguments of the tool, after all changes.
            args: RawJson,
            /// The name of the tool for people; absent if the tool has none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            label: Option<String>,
        },
        /// Output of a running tool.
        ToolProgress {
            /// The id of the tool call.
            id: ToolCallId,
            /// The next piece of the output; may be empty.
            text: String,
            /// True if the text replaces all earlier output of the call.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            replaces: bool,
            /// Data for people and programs, in place of those of earlier events of the call.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            details: Option<RawJson>,
        },
        /// A tool has finished. Its `tool_result` follows in the order of the calls, after all changes
        /// by hooks.
        ToolEnd {
            /// The id of the tool call.
            id: ToolCallId,
            /// The tool that ran.
            name: String,
            /// The duration in milliseconds.
            duration_ms: u64,
        },
        /// The result of a tool call. Results come in the order of the calls.
        ToolResult {
            /// The id of the tool call.
            id: ToolCallId,
            /// The name of the tool, as the model called it.
            name: String,
            /// True if the call failed.
            is_error: bool,
            /// The content for the model.
            #[serde(with = "crate::content::shown")]
            #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::content::ShownContent<'static>>"))]
            content: Vec<ContentBlock>,
            /// The extension that owns the tool; absent for haft's own tools, and if no tool ran.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            extension: Option<ExtensionName>,
            /// The extension or hook that gave the result in place of the tool. The tool did not run.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            synthetic_by: Option<String>,
            /// Data for people and programs, such as the diff of a change. The model does not receive
            /// it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            details: Option<RawJson>,
            /// The entry of the session, for clients that continue from it or copy the session up to it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            entry: Option<String>,
        },
        /// An extension runs a tool through the host, outside the transcript. Events about hooks of
        /// this call have the same id.
        HostCallStart {
            /// The id of the call.
            id: ToolCallId,
            /// The extension.
            extension: ExtensionName,
            /// The name of the tool.
            name: String,
            /// The extension's arguments. Beyond 4 KiB, long values are cut to their beginning and
            /// size.
            args: RawJson,
        },
        /// The result of a `host_call`.
        HostCallEnd {
            /// The id of the call.
            id: ToolCallId,
            /// The extension.
            extension: ExtensionName,
            /// The name of the tool.
            name: String,
            /// True if the call failed.
            is_error: bool,
            /// The reason of the failure; present if `is_error` is true.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            code: Option<HostCallError>,
            /// The content for the extension: the first 4 KiB, and the type of each image.
            #[serde(with = "crate::content::shown")]
            #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::content::ShownContent<'static>>"))]
            content: Vec<ContentBlock>,
            /// Data for people and programs, such as the diff of a change; shortened like the
            /// arguments.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            details: Option<RawJson>,
        },
        /// The step is finished, including its tools.
        TurnEnd {
            /// The reason.
            stop: StopCause,
            /// The error message, if there was an error.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            error: Option<String>,
        },
        /// Steering messages enter the transcript before the next request to the model.
        SteeringInjected {
            /// The number of messages.
            count: u64,
            /// The length of their text in bytes.
            bytes: u64,
        },
        /// The user ends the run: haft skips calls that have not begun and requests one last answer
        /// without tools.
        Interrupted {
            /// The length of the user's hint in bytes.
            hint_bytes: u64,
        },
        /// A hook or an extension discarded the turn. The user's last message and everything after it
        /// leave the conversation; the session file keeps them on a branch.
        TurnDiscarded {
            /// The hook or extension.
            by: String,
            /// The reason.
            reason: String,
        },
        /// The request to the model failed temporarily; haft will send it again.
        Retry {
            /// The number of the next attempt, counted from 2.
            attempt: u32,
            /// The time until the next attempt, in milliseconds.
            delay_ms: u64,
            /// The reason, for people.
            message: String,
            /// The maximum number of attempts.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            max_attempts: Option<u32>,
            /// The reason, for programs.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<RetryReason>,
        },
        /// The model is not available; haft uses another model from now on.
        ModelFallback {
            /// The model that failed, as `provider/model`.
            from: String,
            /// The model that haft uses instead, as `provider/model`.
            to: String,
            /// The reason.
            message: String,
        },
        /// The client, the user or an extension selected another model for the next step.
        ModelChanged {
            /// The model, as `provider/model`.
            model: String,
        },
        /// The client, the user or an extension selected another thinking level, or the new model does
        /// not have the old one.
        ThinkingChanged {
            /// The level that the model uses.
            level: ThinkingLevel,
        },
        /// Compaction begins: a summary will replace the older part of the conversation.
        CompactionStart {
            /// The reason.
            reason: CompactReason,
        },
        /// Compaction ended. If it failed, the context is unchanged.
        CompactionEnd {
            /// The summary; absent if compaction failed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            summary: Option<String>,
            /// The tokens of the context before, partly estimated.
            tokens_before: u64,
            /// The estimated tokens of the context after compaction; absent if it failed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tokens_after: Option<u64>,
            /// The number of messages that the summary replaces; absent if compaction failed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            messages_summed_up: Option<u64>,
            /// The number of messages that were kept; absent if compaction failed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            messages_kept: Option<u64>,
            /// The extension or hook that wrote the summary or refused the compaction.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            by: Option<String>,
            /// The reason of the failure.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            error: Option<String>,
        },
        /// The run ends, no steering or follow-up message waits, and no other run is active. Absent if
        /// messages stay queued, for example after an abort.
        Settled,
        /// The prompt is finished; no further event of it follows.
        Done,
        /// The run failed.
        Error {
            /// The failure and the next step, without flags or commands of a program.
            message: String,
            /// The part that failed; absent if neither applies.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            stage: Option<ErrorStage>,
            /// The next step, for programs that offer it; absent if the message says enough.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            advice: Option<Advice>,
        },
        /// A note of an extension.
        ExtNotify {
            /// The extension.
            extension: ExtensionName,
            /// The level of the note.
            level: NoteLevel,
            /// The text.
            message: String,
        },
        /// Text that a command of an extension shows, outside the transcript.
        ExtDisplay {
            /// The extension.
            extension: ExtensionName,
            /// The text.
            text: String,
        },
        /// An extension removed its notes.
        ExtClearNotes {
            /// The extension.
            extension: ExtensionName,
        },
        /// The user chose to continue without an extension that kept failing: haft sends it no more
        /// requests in this session.
        GateOff {
            /// The extension.
            extension: ExtensionName,
            /// The extension's last failure.
            reason: String,
        },
        /// haft dropped events because the client reads too slowly: notes, `host_call_*` events, and
        /// pieces that later events repeat.
        EventGap {
            /// The number of dropped events. haft never drops messages, results, ends and
            /// `extension_error`.
            lost: u64,
        },
        /// An extension failed. haft sends exactly one event for each failure.
        ExtensionError(ExtensionFault),
    }
}

impl AgentEvent {
    /// Returns the piece of text in a [`TextDelta`](Self::TextDelta); `None` for all other events.
    pub fn text_delta(&self) -> Option<&str> {
        if let Self::TextDelta { delta } = self { Some(delta) } else { None }
    }
}
