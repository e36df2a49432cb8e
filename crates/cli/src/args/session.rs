//! The command line of sessions: which one a run goes on with, and `haft session`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::CompactArgs;
use super::session_files::{ExportArgs, ImportArgs};

/// Which session a run goes on with.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Go on with the session of this directory that was written last
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["resume", "session", "no_session"])]
    pub(crate) go_on: bool,
    /// Go on with the session whose id begins so; without an id, choose one of this directory's
    #[arg(
        short,
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["session", "no_session"],
        value_hint = ValueHint::Other,
    )]
    pub(crate) resume: Option<String>,
    /// Go on with the session in this file, or whose id begins so
    #[arg(long, value_name = "PATH|ID", conflicts_with = "no_session", value_hint = ValueHint::FilePath)]
    pub(crate) session: Option<String>,
    /// Do not record the session
    #[arg(long)]
    pub(crate) no_session: bool,
}

/// `haft session …`.
#[derive(Debug, Args)]
pub(crate) struct SessionCommands {
    /// Take this directory for the one haft is started in
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

/// What can be done with sessions. An ID is the beginning of one, a file, or `last`: the latest of this directory.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the sessions of this directory, the latest first
    #[command(visible_alias = "ls")]
    List {
        /// Those of all directories
        #[arg(long)]
        all: bool,
        /// Print a line of JSON for each
        #[arg(long)]
        json: bool,
    },
    /// Print a session: what was said, a line for each tool call, what it cost
    Show {
        #[command(flatten)]
        which: WhichSession,
        /// Print it as JSON: the messages that the model is sent, settings, cost
        #[arg(long)]
        json: bool,
    },
    /// Draw the branches of a session
    Tree(WhichSession),
    /// Copy a session, or what leads to one of its entries, into a new one, and print its id
    Fork {
        #[command(flatten)]
        which: WhichSession,
        /// The last entry of the copy; the beginning of its id, as haft session tree shows it
        #[arg(long, value_name = "ENTRY", value_hint = ValueHint::Other)]
        at: Option<String>,
    },
    /// Give a session a name; an empty one takes it away
    Rename {
        #[command(flatten)]
        which: WhichSession,
        /// The name
        #[arg(value_hint = ValueHint::Other)]
        name: String,
    },
    /// Mark an entry of a session; without a label, take the mark away
    Label {
        #[command(flatten)]
        which: WhichSession,
        /// The entry; the beginning of its id, as haft session tree shows it
        #[arg(value_hint = ValueHint::Other)]
        entry: String,
        /// The mark
        #[arg(value_hint = ValueHint::Other)]
        label: Option<String>,
    },
    /// Add words to find a session by
    Tag {
        #[command(flatten)]
        which: WhichSession,
        /// The words
        #[arg(required = true, value_name = "TAG", value_hint = ValueHint::Other)]
        tags: Vec<String>,
        /// Take these away instead
        #[arg(long)]
        remove: bool,
    },
    /// Write a session to a file for others, without your paths, or as a page for people
    Export(ExportArgs),
    /// Make a session out of a file of haft, pi or zot, and print its id. Nothing in it is run
    Import(ImportArgs),
    /// Sum up a session, but for its end, so that the model is sent less of it from here on
    Compact(Box<CompactArgs>),
    /// Delete a session for good
    Rm {
        #[command(flatten)]
        which: WhichSession,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

/// Which session is meant.
#[derive(Debug, Args)]
pub(crate) struct WhichSession {
    /// The beginning of its id, its file, or `last` for the latest of this directory
    #[arg(value_name = "ID", value_hint = ValueHint::FilePath)]
    pub(crate) id: String,
}
