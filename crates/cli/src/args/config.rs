//! The command line of `haft config`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::TrustProject;

/// `haft config …`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting that holds here
    Show(ShowArgs),
}

/// What `haft config show` prints.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Say where each value is set
    #[arg(long)]
    pub(crate) origin: bool,
    /// List what the model is told: system prompt, context files, skills, templates
    #[arg(long, conflicts_with = "json")]
    pub(crate) context: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// As seen from this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustProject,
}
