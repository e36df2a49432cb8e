//! Events for hooks that observe. The host can drop them, and hooks never answer them.
//!
//! A [`TurnEvent`] is the event itself; [`RuntimeEvent`] and [`LegacyEvent`] are its two wire
//! forms.

mod kind;
mod legacy;
mod payload;
mod runtime;
mod turn_end;

use std::sync::Arc;

use super::{TurnContext, TurnMeta};

pub use kind::{EventSeverity, HookEventKind, HookEventPayload};
pub use legacy::{LegacyEvent, LegacyKind};
pub use payload::{
    ContextCompress, ErrorEvent, FollowUpQueued, InterruptReceived, LlmDelta, LlmRequest, LlmResponded,
    LlmRetry, SessionSummarize, SteeringInjected, SubTurnEnd, SubTurnOrphan, SubTurnResultDelivered,
    SubTurnSpawn, ToolExecEnd, ToolExecSkipped, ToolExecStart, TurnStart,
};
pub use runtime::{EventAttributes, EventCorrelation, EventScope, EventSource, RuntimeEvent};
pub use turn_end::{SkillSnapshot, ToolExecution, TurnEnd};

/// An event in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEvent {
    /// The time, RFC 3339.
    pub time: String,
    /// The turn. An empty `trace_path` means the trace path of the kind.
    pub meta: TurnMeta,
    /// The context of the turn.
    pub context: Option<Arc<TurnContext>>,
    /// The data of the event.
    pub payload: HookEventPayload,
}

/// The form of the events that a hook receives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum EventForm {
    /// `hook.runtime_event`, which PicoClaw sends since 0.2.9.
    #[default]
    Runtime,
    /// `hook.event` with the kind as a name, as in PicoClaw's documentation (`event_kind = "name"`).
    Name,
    /// `hook.event` with the kind as a number, which PicoClaw sent up to 0.2.8 (`event_kind = "number"`).
    Number,
}
