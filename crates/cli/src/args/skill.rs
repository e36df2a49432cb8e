//! The command line of `haft skill`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::TrustProject;

/// `haft skill …`.
#[derive(Debug, Args)]
pub(crate) struct SkillArgs {
    #[command(subcommand)]
    pub(crate) command: SkillCommand,
}

/// What can be done with skills.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List the skills that the model can load here
    #[command(visible_alias = "ls")]
    List {
        /// As seen from this directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
        #[command(flatten)]
        trust: TrustProject,
    },
}
