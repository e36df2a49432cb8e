//! Conversions between haft's types and the wire of process hooks. Pure: no IO and no clock.

mod bounds;
mod messages;
mod names;
mod results;
mod turn_events;
mod turn_tracker;

pub use bounds::{find_oversized, shorten_reason, truncate_answer};
pub use messages::{apply_edits, rebuild_answer, thinking_of, to_hook_calls, to_hook_messages};
pub use names::{ToolNames, TranslateToolNames, translate_occurrence, translate_question};
pub use results::{result_blocks, to_hook_result};
pub use turn_tracker::TurnTracker;

/// The channel of every turn.
pub const CHANNEL: &str = "cli";

/// The conversation on the channel.
pub const CHAT: &str = "direct";
