//! Data about background commands.

use serde::{Deserialize, Serialize};

/// The background commands of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobsData {
    /// The running jobs and the last ended ones, the oldest first.
    pub jobs: Vec<JobInfo>,
}

/// A background command and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobInfo {
    /// The number, counted from 1 in each session.
    pub job: u32,
    /// The command.
    pub command: String,
    /// The milliseconds since its start, up to its end.
    pub took_ms: u64,
    /// The end in a few words, for example `exit code 0`; absent while the command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}
