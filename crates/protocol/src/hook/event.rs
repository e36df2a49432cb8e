//! Something happened: told to hooks that observe, droppable, never answered.
//!
//! An [`TurnEvent`] is what happened; [`RuntimeEvent`] and [`LegacyEvent`] are the two forms in which it is told.

mod kind;
mod legacy;
mod payload;
mod runtime;
mod turn_end;

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

/// Something that happened in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEvent {
    /// When: RFC 3339.
    pub time: String,
    /// Which turn. An empty `trace_path` stands for that of the kind.
    pub meta: TurnMeta,
    /// The context of the turn.
    pub context: Option<Box<TurnContext>>,
    /// The data of the event.
    pub payload: HookEventPayload,
}
