//! Events of a run, as every front end sees them, in the names of zot's RPC mode; haft adds some and changes none.

mod compaction;
mod failing;
mod fault;
mod host_call_error;
mod level;

pub use compaction::CompactReason;
pub use failing::{ErrorStage, RetryReason};
pub use fault::ExtensionFault;
pub use host_call_error::HostCallError;
pub use level::NoteLevel;
use serde::Serialize;

use crate::content::ContentBlock;
use crate::ids::{ExtensionName, ToolCallId};
use crate::json::RawJson;
use crate::message::{AssistantBlock, Rfc3339Time, StopCause, TokenUsage};

/// One thing that happened. Front ends print them, extensions observe them, nothing waits for them.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The session that the run is part of: first of all, and again when it has to go on in another file.
    Session {
        /// Its id.
        id: String,
        /// Its file, which is there as soon as something was said; absent when nothing is recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// Something was wrong with the session's file, and was mended; where it goes on in another, `session` follows.
    SessionRepaired {
        /// The session's id from here on.
        id: String,
        /// The damage, and how it was repaired.
        message: String,
    },
    /// The project brings what would run or be obeyed, and the user does not trust it as it is: none of that is used.
    TrustRequired {
        /// The project's directory.
        project: String,
        /// The parts that are not used: files and directories as seen from there, and `extension NAME`.
        skipped: Vec<String>,
        /// The next step for the user.
        message: String,
    },
    /// The user's message entered the transcript.
    UserMessage {
        /// Text and images.
        #[serde(serialize_with = "crate::content::serialize_shown")]
        #[schemars(with = "Vec<crate::content::ShownContent<'static>>")]
        content: Vec<ContentBlock>,
        /// When.
        time: Rfc3339Time,
    },
    /// Messages were queued, delivered or taken back: all that wait now, oldest first, as text; an image is a word.
    QueueUpdate {
        /// For the end of the current tools.
        steering: Vec<String>,
        /// For the moment when the agent would stop.
        follow_up: Vec<String>,
        /// For the next prompt.
        next_turn: Vec<String>,
    },
    /// A step begins: one call of the model and the tools it asks for.
    TurnStart {
        /// Counted from 1 within one prompt.
        step: u32,
    },
    /// The model is asked: the request as hooks have left it, by its measures.
    ModelRequest {
        /// The step.
        step: u32,
        /// The provider.
        provider: String,
        /// The model's id there.
        model: String,
        /// The number of messages that are sent.
        messages: u64,
        /// The number of tools that are offered.
        tools: u64,
        /// The longest answer in tokens, where a hook has set it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64>,
        /// The temperature, where a hook has set it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        temperature: Option<f64>,
    },
    /// The model has answered: the answer as hooks have left it, by its measures.
    ModelResponse {
        /// Bytes of text.
        text_bytes: u64,
        /// The number of tools it calls.
        tool_calls: u64,
        /// True if it has thinking in it.
        thinking: bool,
    },
    /// The model begins to answer.
    AssistantStart,
    /// The model's text, as it comes. Held back while an interceptor may still change it.
    TextDelta {
        /// The next piece.
        delta: String,
    },
    /// The model's reasoning, as it comes.
    ThinkingDelta {
        /// The next piece.
        delta: String,
    },
    /// The model begins to write a tool call.
    ToolUseStart {
        /// The call.
        id: ToolCallId,
        /// The tool.
        name: String,
    },
    /// More of a tool call's arguments, as JSON text.
    ToolUseArgs {
        /// The call.
        id: ToolCallId,
        /// The next piece.
        delta: String,
    },
    /// A tool call's arguments are complete.
    ToolUseEnd {
        /// The call.
        id: ToolCallId,
    },
    /// The usage of this step.
    Usage {
        /// This step alone.
        #[serde(flatten)]
        usage: TokenUsage,
        /// Everything since the session began.
        cumulative: TokenUsage,
    },
    /// The answer as the user is shown it: the model's message, or an extension's replacement of it.
    AssistantMessage {
        /// The blocks in order.
        content: Vec<AssistantBlock>,
        /// When.
        time: Rfc3339Time,
    },
    /// The model called a tool. All calls of one message are announced before the first one runs.
    ToolCall {
        /// The call.
        id: ToolCallId,
        /// The tool.
        name: String,
        /// The model's arguments; rewrites are reported by `tool_rewritten`.
        args: RawJson,
    },
    /// An extension or a hook changed the arguments that a tool will get, or which tool gets them.
    ToolRewritten {
        /// The call.
        id: ToolCallId,
        /// The extension that changed it.
        by: String,
        /// The tool that is called from here on; absent while it is the same. The result still bears the model's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The arguments from here on, whole; of a call of an extension as much of them as in `host_call_start`.
        args: RawJson,
        /// JSON pointers of what is not as it was in the arguments; `""` stands for the whole.
        changed: Vec<String>,
    },
    /// Two extensions or hooks changed the same field of a tool's arguments. The later one's change counts.
    ToolRewriteConflict {
        /// The call.
        id: ToolCallId,
        /// JSON pointer of the field.
        path: String,
        /// The extension that changed it first, and the one that changed it then.
        by: [String; 2],
    },
    /// An extension or a hook refused a tool call.
    ToolBlocked {
        /// The call.
        id: ToolCallId,
        /// The extension that refused it.
        by: String,
        /// The text for the model.
        reason: String,
    },
    /// A call did not run, because the user had something else in mind before it began. Its result follows.
    ToolSkipped {
        /// The call.
        id: ToolCallId,
        /// The tool.
        name: String,
        /// Why.
        reason: String,
    },
    /// A tool begins to run: everybody who decides about the call has let it pass.
    ToolStart {
        /// The call.
        id: ToolCallId,
        /// The tool that runs.
        name: String,
        /// The arguments that it gets.
        args: RawJson,
    },
    /// Output of a running tool.
    ToolProgress {
        /// The call.
        id: ToolCallId,
        /// The next piece.
        text: String,
    },
    /// A tool has run. Its result follows in the order of the calls, when hooks have looked at it.
    ToolEnd {
        /// The call.
        id: ToolCallId,
        /// The tool that ran.
        name: String,
        /// The time it ran, in milliseconds.
        duration_ms: u64,
    },
    /// The result of a tool call, in the order of the calls.
    ToolResult {
        /// The call.
        id: ToolCallId,
        /// The tool.
        name: String,
        /// True if it failed.
        is_error: bool,
        /// The content for the model.
        #[serde(serialize_with = "crate::content::serialize_shown")]
        #[schemars(with = "Vec<crate::content::ShownContent<'static>>")]
        content: Vec<ContentBlock>,
        /// The extension whose tool gave it; absent for haft's own tools, and where no tool ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extension: Option<ExtensionName>,
        /// The extension or hook that gave the result in place of the tool, which did not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        synthetic_by: Option<String>,
        /// Data for people and programs that the model is not shown, such as the diff of a change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<RawJson>,
    },
    /// An extension has the host run a tool, outside of the transcript. What hooks do about it is told with the same id.
    HostCallStart {
        /// The call.
        id: ToolCallId,
        /// Whose.
        extension: ExtensionName,
        /// The tool.
        name: String,
        /// The extension's arguments. Beyond 4 KiB, of what is long only the beginning and the size.
        args: RawJson,
    },
    /// The result of the call.
    HostCallEnd {
        /// The call.
        id: ToolCallId,
        /// Whose.
        extension: ExtensionName,
        /// The tool.
        name: String,
        /// True if it failed.
        is_error: bool,
        /// Why it failed; there whenever `is_error` is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<HostCallError>,
        /// The content for the extension: the first 4 KiB, and of images the type.
        #[serde(serialize_with = "crate::content::serialize_shown")]
        #[schemars(with = "Vec<crate::content::ShownContent<'static>>")]
        content: Vec<ContentBlock>,
        /// Data for people and programs, such as the diff of a change; as short as arguments are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<RawJson>,
    },
    /// The step is over, its tools included.
    TurnEnd {
        /// Why.
        stop: StopCause,
        /// The error, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Messages that the user said to the agent at work enter the transcript, before the model is asked again.
    SteeringInjected {
        /// The number of events.
        count: u64,
        /// Bytes of their text.
        bytes: u64,
    },
    /// The user wants the run to end: what has not begun is skipped, and the model is asked once more, without tools.
    Interrupted {
        /// Bytes of what the user said with it.
        hint_bytes: u64,
    },
    /// A hook or an extension discarded the turn: what was said and done since the user's last message, that message
    /// included, is not part of the conversation any more. The session's log keeps it on a branch that was left.
    TurnDiscarded {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// The model's server asked for patience; the request will be sent again.
    Retry {
        /// The attempt that comes next, counted from 2.
        attempt: u32,
        /// The wait in milliseconds.
        delay_ms: u64,
        /// Why.
        message: String,
        /// The greatest number of attempts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_attempts: Option<u32>,
        /// Why, for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<RetryReason>,
    },
    /// The model cannot be asked now; from here on another one is.
    ModelFallback {
        /// The model that failed, as `provider/model`.
        from: String,
        /// The model that is asked instead.
        to: String,
        /// Why.
        message: String,
    },
    /// The context is about to be summed up: a summary will stand for what was said first.
    CompactionStart {
        /// Why.
        reason: CompactReason,
    },
    /// The context was summed up, or was not: then it is as it was before.
    CompactionEnd {
        /// The text for the model in place of what was summarized; absent when nothing was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Tokens of the context before, partly estimated.
        tokens_before: u64,
        /// Tokens of the context from here on, estimated; absent when nothing was summed up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_after: Option<u64>,
        /// The number of messages the summary stands for; absent when nothing was summed up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages_summed_up: Option<u64>,
        /// The number of messages that are kept beside it; absent when nothing was summed up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages_kept: Option<u64>,
        /// The extension or hook that wrote the summary, or did not want one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Why nothing was summed up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The prompt is dealt with; nothing more comes.
    Done,
    /// The run failed.
    Error {
        /// The failure and the next step.
        message: String,
        /// Where; absent when it is none of these.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<ErrorStage>,
    },
    /// An extension's note.
    ExtNotify {
        /// Whose.
        extension: ExtensionName,
        /// The level of the note.
        level: NoteLevel,
        /// The text.
        message: String,
    },
    /// Text that an extension's command shows, outside the transcript.
    ExtDisplay {
        /// Whose.
        extension: ExtensionName,
        /// The text.
        text: String,
    },
    /// An extension took its notes back.
    ExtClearNotes {
        /// Whose.
        extension: ExtensionName,
    },
    /// The person decided to go on without an extension that kept failing: until the session ends it is asked nothing.
    GateOff {
        /// The extension whose gates are off.
        extension: ExtensionName,
        /// Its last failure.
        reason: String,
    },
    /// Events are read too slowly: here so many were left out, of notes, of `host_call`s, and over RPC of pieces of a whole.
    EventGap {
        /// The number of lost events. A message, a result, an end or an `extension_error` never is.
        lost: u64,
    },
    /// An extension failed. One event for one failure, never silent, never twice.
    ExtensionError(ExtensionFault),
}
