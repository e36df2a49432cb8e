//! The payload of the event for the end of a turn.

use serde::{Deserialize, Serialize};

/// A turn ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "PascalCase", default)]
pub struct TurnEnd {
    /// [`COMPLETED`](Self::COMPLETED), [`ERROR`](Self::ERROR) or [`ABORTED`](Self::ABORTED).
    pub status: String,
    /// The working directory of the agent.
    pub workspace: String,
    /// The number of requests to the model.
    pub iterations: u32,
    /// The duration in nanoseconds.
    pub duration: u64,
    /// The length of the answer in bytes.
    pub final_content_len: usize,
    /// The user's prompt.
    pub user_message: String,
    /// The answer.
    pub final_content: String,
    /// Skills in use. Only PicoClaw has them; empty in haft.
    pub active_skills: Vec<String>,
    /// Skills that were tried. Only PicoClaw has them; empty in haft.
    pub attempted_skills: Vec<String>,
    /// Skills that led to the answer. Only PicoClaw has them; empty in haft.
    pub final_successful_path: Vec<String>,
    /// Skills at several points of the turn. Only PicoClaw has them; empty in haft.
    pub skill_context_snapshots: Vec<SkillSnapshot>,
    /// The tools that ran, each once.
    pub tool_kinds: Vec<String>,
    /// The tool executions, in order.
    pub tool_executions: Vec<ToolExecution>,
}

impl TurnEnd {
    /// The model finished.
    pub const COMPLETED: &'static str = "completed";
    /// Something failed, or a hook ended the turn.
    pub const ERROR: &'static str = "error";
    /// The user or a hook stopped the turn.
    pub const ABORTED: &'static str = "aborted";
}

/// Skills at one point of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SkillSnapshot {
    /// The number of the snapshot, counted from 1.
    pub sequence: u32,
    /// The trigger of the change.
    pub trigger: String,
    /// The skills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skill_names: Vec<String>,
}

/// A tool that ran in a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolExecution {
    /// The tool.
    pub name: String,
    /// True if the tool succeeded.
    pub success: bool,
    /// The error message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error_summary: String,
    /// The skills in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skill_names: Vec<String>,
}
