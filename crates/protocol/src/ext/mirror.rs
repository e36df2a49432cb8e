//! `state` and `entries`: a copy of the session in the extension. Capability `mirror`.
//!
//! The extension names the parts that it mirrors in `hello.mirror`. The host sends them behind
//! `hello_ack`, or when the session is known, and then what changes. It never drops these frames:
//! while the extension does not read, it combines the changes. Each question and each result comes
//! behind the changes that precede it.
//!
//! ```json
//! {"type":"state","seq":1,"session":"0199","busy":false,"thinking":"high"}
//! {"type":"entries","seq":1,"session":"0199","reset":true,"header":{"type":"session"},"append":[]}
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent_state::{ContextData, QueueData, ToolInfo};
use crate::json::{RawJson, optional_object};
use crate::named_enum::named_enum;
use crate::thinking::ThinkingLevel;

named_enum! {
    /// A part of the session that an extension can mirror.
    pub enum MirrorPart {
        /// The lines of the session file, in `entries`.
        Entries = "entries",
        /// The model, in `state.provider` and `state.model`.
        Model = "model",
        /// The thinking level.
        Thinking = "thinking",
        /// True while the agent works.
        Busy = "busy",
        /// The queued messages.
        Queue = "queue",
        /// The use of the context window.
        Context = "context",
        /// The name of the session.
        Name = "name",
        /// The tags of the session.
        Tags = "tags",
        /// The tools.
        Tools = "tools",
    }
}

/// The parts of the session's state that changed. The first one has all mirrored parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateFrame {
    /// The number of the newest change in this frame. `state` and `entries` count together.
    pub seq: u64,
    /// The id of the session.
    pub session: String,
    /// The provider of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's id at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The thinking level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// True if a run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<bool>,
    /// The queued messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueData>,
    /// The use of the context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextData>,
    /// The name of the session; empty if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The tags of the session, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// The tools, whole, in the order in which the model gets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolInfo>>,
}

/// New entries of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntriesFrame {
    /// The number of the newest change in this frame. `state` and `entries` count together.
    pub seq: u64,
    /// The id of the session. It changes when the session continues in another file.
    pub session: String,
    /// True if the mirror is empty before this frame.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
    /// The header of the session file; absent if it did not change.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub header: Option<RawJson>,
    /// The new entries of all branches, as lines of the session file. Each comes behind its parent.
    #[serde(default, deserialize_with = "crate::json::object_list")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_list_schema"))]
    pub append: Vec<RawJson>,
    /// The id of the entry that the next entry follows; absent at the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
    /// True if the next frame continues this one. Without it, the mirror equals the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}
