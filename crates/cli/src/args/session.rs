//! The command line of `haft session`.

use clap::{Args, Subcommand, ValueHint};

use super::session_files::{ExportArgs, ImportArgs};

/// `haft session …`.
#[derive(Debug, Args)]
pub(crate) struct SessionCommands {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

/// What can be done with sessions. An ID is the beginning of one, a file, or `last`: the latest of this directory.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Write a session to a file for others, without your paths, or as a page for people
    Export(ExportArgs),
    /// Make a session out of a file of haft, pi or zot, and print its id. Nothing in it is run
    Import(ImportArgs),
}

/// Which session is meant.
#[derive(Debug, Args)]
pub(crate) struct WhichSession {
    /// The beginning of its id, its file, or `last` for the latest of this directory
    #[arg(value_name = "ID", value_hint = ValueHint::FilePath)]
    pub(crate) id: String,
}
