//! `list_jobs`, `stop_job`: background commands.

use serde::{Deserialize, Serialize};

/// Lists the background commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListJobs {}

/// Stops a background command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopJob {
    /// The number of the job.
    pub job: u32,
}
