//! Something happened: told to hooks that observe, droppable, never answered.
//!
//! An [`Occurrence`] is what happened; [`RuntimeEvent`] and [`LegacyEvent`] are the two forms in which it is told.

mod kind;
mod legacy;
mod payload;
mod runtime;
mod turn_end;

use super::{Meta, TurnContext};

pub use kind::{Kind, Payload, Severity};
pub use legacy::{LegacyEvent, LegacyKind};
pub use payload::{
    ContextCompress, ErrorEvent, FollowUpQueued, InterruptReceived, LlmDelta, LlmRequest, LlmResponded,
    LlmRetry, SessionSummarize, SteeringInjected, SubTurnEnd, SubTurnOrphan, SubTurnResultDelivered,
    SubTurnSpawn, ToolExecEnd, ToolExecSkipped, ToolExecStart, TurnStart,
};
pub use runtime::{Attrs, Correlation, EventScope, EventSource, RuntimeEvent};
pub use turn_end::{SkillSnapshot, ToolExecution, TurnEnd};

/// Something that happened in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// When: RFC 3339.
    pub time: String,
    /// Which turn. An empty `trace_path` stands for that of the kind.
    pub meta: Meta,
    /// The context of the turn.
    pub context: Option<Box<TurnContext>>,
    /// The data of the event.
    pub payload: Payload,
}
