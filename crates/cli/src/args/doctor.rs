//! The command line of `haft doctor`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `haft doctor …`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// As seen from this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
}
