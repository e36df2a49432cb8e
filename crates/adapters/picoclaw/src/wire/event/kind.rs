//! The registry of event kinds, one line each, in the order of PicoClaw's numbers.

use serde::{Deserialize, Serialize};

use super::payload::{
    ContextCompress, ErrorEvent, FollowUpQueued, InterruptReceived, LlmDelta, LlmRequest, LlmResponded,
    LlmRetry, SessionSummarize, SteeringInjected, SubTurnEnd, SubTurnOrphan, SubTurnResultDelivered,
    SubTurnSpawn, ToolExecEnd, ToolExecSkipped, ToolExecStart, TurnStart,
};
use super::turn_end::TurnEnd;
use crate::wire::fold;
use haft_protocol::RawJson;

macro_rules! kinds {
    ($kinds:ident, $payloads:ident; $($(#[$doc:meta])* $kind:ident($payload:ident) = $name:literal, $legacy:literal, $trace:literal;)*) => {
        /// The kind of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kinds {
            $($(#[$doc])* $kind,)*
        }

        impl $kinds {
            /// All kinds, in the order of the numbers.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Returns the name since PicoClaw 0.2.9.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Returns the name before PicoClaw 0.2.9, which users' documents still use.
            pub const fn legacy_name(self) -> &'static str {
                match self { $(Self::$kind => $legacy,)* }
            }

            /// Returns `meta.TracePath` of an event of this kind.
            pub const fn trace_path(self) -> &'static str {
                match self { $(Self::$kind => $trace,)* }
            }
        }

        /// An event and its data. All fields are always present; durations are in nanoseconds.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        pub enum $payloads {
            $($(#[$doc])* $kind($payload),)*
        }

        impl $payloads {
            /// Returns the kind.
            pub const fn kind(&self) -> $kinds {
                match self { $(Self::$kind(_) => $kinds::$kind,)* }
            }

            /// Reads the payload of an event, as PicoClaw or haft writes it.
            ///
            /// # Errors
            /// The field and the mistake.
            pub fn read(kind: $kinds, payload: &RawJson) -> Result<Self, String> {
                match kind { $($kinds::$kind => fold::read(payload).map(Self::$kind),)* }
            }
        }

        $(impl From<$payload> for $payloads {
            fn from(payload: $payload) -> Self {
                Self::$kind(payload)
            }
        })*
    };
}

kinds! { HookEventKind, HookEventPayload;
    /// A turn begins.
    TurnStart(TurnStart) = "agent.turn.start", "turn_start", "turn.start";
    /// A turn ended.
    TurnEnd(TurnEnd) = "agent.turn.end", "turn_end", "turn.end";
    /// haft sends a request to the model.
    LlmRequest(LlmRequest) = "agent.llm.request", "llm_request", "turn.llm.request";
    /// A piece of the answer arrived. PicoClaw never sends this event.
    LlmDelta(LlmDelta) = "agent.llm.delta", "llm_delta", "turn.llm.delta";
    /// The model has answered.
    LlmResponse(LlmResponded) = "agent.llm.response", "llm_response", "turn.llm.response";
    /// haft repeats a failed request to the model.
    LlmRetry(LlmRetry) = "agent.llm.retry", "llm_retry", "turn.llm.retry";
    /// A part of the conversation was dropped to free context.
    ContextCompress(ContextCompress) = "agent.context.compress", "context_compress", "turn.context.compress";
    /// The conversation was compacted.
    SessionSummarize(SessionSummarize) =
        "agent.session.summarize", "session_summarize", "turn.session.summarize";
    /// A tool starts.
    ToolExecStart(ToolExecStart) = "agent.tool.exec_start", "tool_exec_start", "turn.tool.start";
    /// A tool has finished.
    ToolExecEnd(ToolExecEnd) = "agent.tool.exec_end", "tool_exec_end", "turn.tool.end";
    /// A tool call was skipped.
    ToolExecSkipped(ToolExecSkipped) = "agent.tool.exec_skipped", "tool_exec_skipped", "turn.tool.skipped";
    /// Steering messages joined the conversation.
    SteeringInjected(SteeringInjected) =
        "agent.steering.injected", "steering_injected", "turn.steering.injected";
    /// A late result of a tool waits for its turn.
    FollowUpQueued(FollowUpQueued) = "agent.follow_up.queued", "follow_up_queued", "turn.follow_up.queued";
    /// The turn was interrupted.
    InterruptReceived(InterruptReceived) =
        "agent.interrupt.received", "interrupt_received", "turn.interrupt.received";
    /// A part of the turn was given to a sub-agent.
    SubTurnSpawn(SubTurnSpawn) = "agent.subturn.spawn", "subturn_spawn", "subturn.spawn";
    /// The sub-agent finished.
    SubTurnEnd(SubTurnEnd) = "agent.subturn.end", "subturn_end", "subturn.end";
    /// The sub-agent's result reached the turn.
    SubTurnResultDelivered(SubTurnResultDelivered) =
        "agent.subturn.result_delivered", "subturn_result_delivered", "subturn.result_delivered";
    /// The sub-agent's result came too late.
    SubTurnOrphan(SubTurnOrphan) = "agent.subturn.orphan", "subturn_orphan", "subturn.orphan";
    /// An error occurred.
    Error(ErrorEvent) = "agent.error", "error", "turn.error";
}

impl HookEventKind {
    /// Returns the kind of this name, in either scheme.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| name == kind.name() || name == kind.legacy_name())
    }

    /// Returns the number that PicoClaw up to 0.2.8 sends for the kind.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the kind of this number.
    pub fn from_number(number: u64) -> Option<Self> {
        usize::try_from(number).ok().and_then(|number| Self::ALL.get(number)).copied()
    }
}

/// The severity of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventSeverity {
    /// Details for debugging.
    Debug,
    /// A normal event.
    #[default]
    Info,
    /// A warning: something was left out.
    Warn,
    /// A failure.
    Error,
}

impl HookEventPayload {
    /// Returns the severity of the event.
    pub fn severity(&self) -> EventSeverity {
        match self {
            Self::Error(_) | Self::SubTurnOrphan(_) => EventSeverity::Error,
            Self::LlmRetry(_) | Self::ContextCompress(_) | Self::ToolExecSkipped(_) => EventSeverity::Warn,
            Self::TurnEnd(end) => match end.status.as_str() {
                TurnEnd::ERROR => EventSeverity::Error,
                TurnEnd::ABORTED => EventSeverity::Warn,
                _ => EventSeverity::Info,
            },
            Self::ToolExecEnd(end) if end.is_error => EventSeverity::Warn,
            Self::TurnStart(_)
            | Self::LlmRequest(_)
            | Self::LlmDelta(_)
            | Self::LlmResponse(_)
            | Self::SessionSummarize(_)
            | Self::ToolExecStart(_)
            | Self::ToolExecEnd(_)
            | Self::SteeringInjected(_)
            | Self::FollowUpQueued(_)
            | Self::InterruptReceived(_)
            | Self::SubTurnSpawn(_)
            | Self::SubTurnEnd(_)
            | Self::SubTurnResultDelivered(_) => EventSeverity::Info,
        }
    }
}
