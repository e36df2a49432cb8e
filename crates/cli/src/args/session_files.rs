//! The command line of `haft session export` and `import`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::WhichSession;

/// `haft session export …`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) which: WhichSession,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write a page for people: one HTML file that needs nothing else
    #[arg(long)]
    pub(crate) html: bool,
    /// The last entry of the branch; the beginning of its id, as haft session tree shows it
    #[arg(long, value_name = "ENTRY", value_hint = ValueHint::Other)]
    pub(crate) at: Option<String>,
    /// All other branches, too
    #[arg(long)]
    pub(crate) all_branches: bool,
}

/// `haft session import …`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// What haft exported, a session file of haft or pi, or a .zotsession; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Give the session a name
    #[arg(long, value_hint = ValueHint::Other)]
    pub(crate) name: Option<String>,
}
