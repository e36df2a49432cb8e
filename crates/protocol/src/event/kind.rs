//! The names of the events, as a list.

use super::AgentEvent;
use crate::named_enum::named_enum;

macro_rules! agent_event_kinds {
    ($($variant:ident = $name:literal,)*) => {
        named_enum! {
            /// The name of an [`AgentEvent`]: its `type` in `--json`.
            pub enum AgentEventKind {
                $(#[doc = concat!("The event `", $name, "`.")] $variant = $name,)*
            }
        }

        impl AgentEvent {
            /// Returns the name of the event.
            pub const fn kind(&self) -> AgentEventKind {
                match self { $(Self::$variant { .. } => AgentEventKind::$variant,)* }
            }
        }
    };
}

agent_event_kinds! {
    Session = "session",
    SessionRepaired = "session_repaired",
    TrustRequired = "trust_required",
    AgentStart = "agent_start",
    UserMessage = "user_message",
    CustomMessage = "custom_message",
    QueueUpdate = "queue_update",
    TurnStart = "turn_start",
    ModelRequest = "model_request",
    ModelResponse = "model_response",
    AssistantStart = "assistant_start",
    TextDelta = "text_delta",
    ThinkingDelta = "thinking_delta",
    ToolUseStart = "tool_use_start",
    ToolUseArgs = "tool_use_args",
    ToolUseEnd = "tool_use_end",
    Usage = "usage",
    AssistantMessage = "assistant_message",
    ToolCall = "tool_call",
    ToolRewritten = "tool_rewritten",
    ToolRewriteConflict = "tool_rewrite_conflict",
    ToolBlocked = "tool_blocked",
    ToolSkipped = "tool_skipped",
    ToolStart = "tool_start",
    ToolProgress = "tool_progress",
    ToolEnd = "tool_end",
    ToolResult = "tool_result",
    HostCallStart = "host_call_start",
    HostCallEnd = "host_call_end",
    TurnEnd = "turn_end",
    SteeringInjected = "steering_injected",
    Interrupted = "interrupted",
    TurnDiscarded = "turn_discarded",
    Retry = "retry",
    ModelFallback = "model_fallback",
    ModelChanged = "model_changed",
    ThinkingChanged = "thinking_changed",
    CompactionStart = "compaction_start",
    CompactionEnd = "compaction_end",
    Settled = "settled",
    Done = "done",
    Error = "error",
    ExtNotify = "ext_notify",
    ExtDisplay = "ext_display",
    ExtClearNotes = "ext_clear_notes",
    GateOff = "gate_off",
    EventGap = "event_gap",
    ExtensionError = "extension_error",
}

impl AgentEventKind {
    /// True if extensions with the capability `events_2` can subscribe to the event. The other
    /// events describe the connection of one client.
    pub const fn is_for_extensions(self) -> bool {
        !matches!(self, Self::TrustRequired | Self::EventGap)
    }

    /// Returns the names of all events to which extensions with `events_2` can subscribe.
    pub fn names_for_extensions() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().filter(|kind| kind.is_for_extensions()).map(|kind| kind.name())
    }
}
