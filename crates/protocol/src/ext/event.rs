//! `event` and `event_gap`: notifications of events, and of dropped events. The host does not wait
//! for a response.

use serde::{Deserialize, Serialize};

use crate::event::CompactReason;
use crate::ids::ToolCallId;
use crate::json::{RawJson, optional_object};
use crate::message::StopCause;

/// An event, with flat fields as in zot. `event` determines which fields are present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LifecycleEvent {
    /// The name: `session_start`, `turn_start`, `tool_call`, `assistant_message`, `turn_end`,
    /// `compaction_start` or `compaction_end`.
    pub event: String,
    /// `turn_start`: the number of the step, counted from 1 in each prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// `turn_end`: the reason for the end of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopCause>,
    /// `turn_end`, `compaction_end`: the error, if the step or compaction failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// For `tool_call`: the model's id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolCallId>,
    /// `tool_call`: the name of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// `tool_call`: the model's arguments, before any rewrite. Absent if they are not an object;
    /// such a call does not run.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub tool_args: Option<RawJson>,
    /// `assistant_message`: the text that the user sees; absent if empty. `compaction_end`: the
    /// summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `compaction_start`: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompactReason>,
    /// `session_start`: the session's id, the same after a resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// `session_start`: the session file, which exists after the first message. Absent if the
    /// session is not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_path: Option<String>,
}

/// The host dropped events, because the extension reads too slowly. Sent in place of the dropped
/// events, only to extensions with the capability `event_gap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventGap {
    /// The number of dropped events among the subscribed ones.
    pub lost: u64,
}

impl LifecycleEvent {
    /// All events that this version sends.
    pub const NAMES: &[&str] = &[
        "session_start",
        "turn_start",
        "tool_call",
        "assistant_message",
        "turn_end",
        "compaction_start",
        "compaction_end",
    ];

    /// Creates a `session_start` event.
    pub fn session_start() -> Self {
        Self { event: "session_start".into(), ..Self::default() }
    }

    /// Creates a `session_start` event with the id of the session, and its file if it is recorded.
    pub fn session_start_of(id: String, path: Option<String>) -> Self {
        Self { session_id: Some(id), session_path: path, ..Self::session_start() }
    }

    /// Creates a `turn_start` event.
    pub fn turn_start(step: u32) -> Self {
        Self { event: "turn_start".into(), step: Some(step), ..Self::default() }
    }

    /// Creates a `turn_end` event.
    pub fn turn_end(stop: StopCause, error: Option<String>) -> Self {
        Self { event: "turn_end".into(), stop: Some(stop), error, ..Self::default() }
    }

    /// Creates a `tool_call` event. Arguments that are not an object are omitted.
    pub fn tool_call(id: ToolCallId, name: String, args: RawJson) -> Self {
        Self {
            event: "tool_call".into(),
            tool_id: Some(id),
            tool_name: Some(name),
            tool_args: Some(args).filter(RawJson::is_object),
            ..Self::default()
        }
    }

    /// Creates an `assistant_message` event. An empty text is omitted.
    pub fn assistant_message(text: String) -> Self {
        let text = (!text.is_empty()).then_some(text);
        Self { event: "assistant_message".into(), text, ..Self::default() }
    }

    /// Creates a `compaction_start` event.
    pub fn compaction_start(reason: CompactReason) -> Self {
        Self { event: "compaction_start".into(), reason: Some(reason), ..Self::default() }
    }

    /// Creates a `compaction_end` event with the summary or the reason why there is none.
    pub fn compaction_end(summary: Option<String>, error: Option<String>) -> Self {
        Self { event: "compaction_end".into(), text: summary, error, ..Self::default() }
    }
}
