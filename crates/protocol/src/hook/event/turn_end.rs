//! The particulars of a turn that is over.

use serde::{Deserialize, Serialize};

/// A turn ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TurnEnd {
    /// [`COMPLETED`](Self::COMPLETED), [`ERROR`](Self::ERROR) or [`ABORTED`](Self::ABORTED).
    pub status: String,
    /// The directory that the agent works in.
    pub workspace: String,
    /// Calls of the model.
    pub iterations: u32,
    /// Nanoseconds.
    pub duration: u64,
    /// Bytes of the answer.
    pub final_content_len: usize,
    /// The user's prompt.
    pub user_message: String,
    /// The answer.
    pub final_content: String,
    /// Skills in use. PicoClaw's; empty in haft.
    pub active_skills: Vec<String>,
    /// Skills that were tried. PicoClaw's; empty in haft.
    pub attempted_skills: Vec<String>,
    /// Skills that led to the answer. PicoClaw's; empty in haft.
    pub final_successful_path: Vec<String>,
    /// Skills as the turn went on. PicoClaw's; empty in haft.
    pub skill_context_snapshots: Vec<SkillSnapshot>,
    /// Tools that ran, each once.
    pub tool_kinds: Vec<String>,
    /// Tools that ran, in order.
    pub tool_executions: Vec<ToolExecution>,
}

impl TurnEnd {
    /// The model had no more to say.
    pub const COMPLETED: &'static str = "completed";
    /// Something failed, or a hook ended the turn.
    pub const ERROR: &'static str = "error";
    /// The user or a hook stopped it.
    pub const ABORTED: &'static str = "aborted";
}

/// Skills at one point of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct SkillSnapshot {
    /// From 1.
    pub sequence: u32,
    /// The trigger of the change.
    pub trigger: String,
    /// The skills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skill_names: Vec<String>,
}

/// A tool that ran in a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ToolExecution {
    /// The tool.
    pub name: String,
    /// True if it did what it was asked.
    pub success: bool,
    /// The error message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error_summary: String,
    /// The skills in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skill_names: Vec<String>,
}
