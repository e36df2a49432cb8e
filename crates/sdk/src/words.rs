//! Words of the protocol that handlers of an extension meet.

/// Frames and their parts, for what is not re-exported by name.
pub use haft_protocol as protocol;
pub use haft_protocol::RawJson;
pub use haft_protocol::event::Level;
pub use haft_protocol::ext::{
    AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision, CommandAction as Response,
    Event, ExtensionConfig, HelloAck as HostInfo, InterceptAssistantMessage, InterceptBeforeAgentStart,
    InterceptBeforeCompact, InterceptToolCall, InterceptTurnStart, Panel, PanelKey, RegisterRejected,
    ToolCallDecision, TurnStartDecision,
};
