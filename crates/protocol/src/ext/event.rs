//! `event` and `event_gap`: something the extension watches happened, or too much of it. Nobody waits for it.

use serde::{Deserialize, Serialize};

use crate::event::CompactReason;
use crate::ids::ToolCallId;
use crate::json::{RawJson, optional_object};
use crate::message::StopCause;

/// One lifecycle event, flat as zot sends it: `event` says which fields are there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LifecycleEvent {
    /// `session_start`, `turn_start`, `tool_call`, `assistant_message`, `turn_end`, `compaction_start` or
    /// `compaction_end`.
    pub event: String,
    /// `turn_start`: the step, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// `turn_end`: why the step ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopCause>,
    /// `turn_end`, `compaction_end`: what went wrong, when something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `tool_call`: the model's id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolCallId>,
    /// `tool_call`: the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// `tool_call`: the model's arguments, before any rewrite. Absent when what the model wrote is no object; such a
    /// call does not run.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::json::object_schema")]
    pub tool_args: Option<RawJson>,
    /// `assistant_message`: what the user is shown. Absent when empty. `compaction_end`: the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `compaction_start`: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompactReason>,
    /// `session_start`: the session's id, the same when the session is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// `session_start`: the session's file, which is there as soon as something was said. Absent when nothing is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_path: Option<String>,
}

/// Events were lost, because the extension does not read fast enough. Sent only to extensions that announce the
/// capability `event_gap`, in the place of the events that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EventGap {
    /// The number of lost events, of those that it subscribed to.
    pub lost: u64,
}

impl LifecycleEvent {
    /// Every event this version sends.
    pub const NAMES: &[&str] = &[
        "session_start",
        "turn_start",
        "tool_call",
        "assistant_message",
        "turn_end",
        "compaction_start",
        "compaction_end",
    ];

    /// `session_start`.
    pub fn session_start() -> Self {
        Self { event: "session_start".into(), ..Self::default() }
    }

    /// `session_start` of a session that has an id, and a file if it is recorded.
    pub fn session_start_of(id: String, path: Option<String>) -> Self {
        Self { session_id: Some(id), session_path: path, ..Self::session_start() }
    }

    /// `turn_start`.
    pub fn turn_start(step: u32) -> Self {
        Self { event: "turn_start".into(), step: Some(step), ..Self::default() }
    }

    /// `turn_end`.
    pub fn turn_end(stop: StopCause, error: Option<String>) -> Self {
        Self { event: "turn_end".into(), stop: Some(stop), error, ..Self::default() }
    }

    /// `tool_call`; arguments that are no object are left out.
    pub fn tool_call(id: ToolCallId, name: String, args: RawJson) -> Self {
        Self {
            event: "tool_call".into(),
            tool_id: Some(id),
            tool_name: Some(name),
            tool_args: Some(args).filter(RawJson::is_object),
            ..Self::default()
        }
    }

    /// `assistant_message`; an empty text is left out.
    pub fn assistant_message(text: String) -> Self {
        let text = (!text.is_empty()).then_some(text);
        Self { event: "assistant_message".into(), text, ..Self::default() }
    }

    /// `compaction_start`.
    pub fn compaction_start(reason: CompactReason) -> Self {
        Self { event: "compaction_start".into(), reason: Some(reason), ..Self::default() }
    }

    /// `compaction_end`: the summary, or why there is none.
    pub fn compaction_end(summary: Option<String>, error: Option<String>) -> Self {
        Self { event: "compaction_end".into(), text: summary, error, ..Self::default() }
    }
}
