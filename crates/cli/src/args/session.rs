//! The command line of sessions: which one a run goes on with, and `haft session`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use haft_config::SecretString;

use super::{AgentArgs, ExtensionArgs, ModelArgs, Provider, RunArgs};

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

/// `haft session compact …`.
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    pub(crate) which: WhichSession,
    /// What the summary shall heed; several words are joined by spaces
    #[arg(value_name = "INSTRUCTIONS", value_hint = ValueHint::Other)]
    pub(crate) instructions: Vec<String>,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to work: the `--cwd` of all that `haft session` does.
    #[arg(skip)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    model: Summariser,
    #[command(flatten)]
    ext: ExtensionArgs,
}

/// Which model writes the summary.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
struct Summariser {
    /// The provider of the model that writes the summary; without it the session's model does, which it keeps
    #[arg(long, value_name = "NAME", value_parser = Provider, hide_possible_values = true)]
    provider: Option<String>,
    /// The model's id at that provider, or PROVIDER/ID
    #[arg(long, value_name = "ID", value_hint = ValueHint::Other)]
    model: Option<String>,
    /// The provider's key. Other users can see it in the list of processes; a variable or auth.json is safer
    #[arg(long, value_name = "KEY", value_hint = ValueHint::Other)]
    api_key: Option<SecretString>,
    /// Where the provider is reached, for compatible servers
    #[arg(long, value_name = "URL", value_hint = ValueHint::Other)]
    base_url: Option<String>,
    /// Models to ask while the first is at its limit, down, or refuses its key; separated by commas
    #[arg(long, value_name = "PROVIDER/MODEL", value_delimiter = ',', value_hint = ValueHint::Other)]
    fallback: Option<Vec<String>>,
}

/// The arguments of the run that the compaction is.
impl From<CompactArgs> for RunArgs {
    fn from(args: CompactArgs) -> Self {
        let Summariser { provider, model, api_key, base_url, fallback } = args.model;
        Self {
            json: args.json,
            model: ModelArgs { provider, model, api_key, base_url, fallback, ..ModelArgs::default() },
            agent: AgentArgs { cwd: args.cwd, ..AgentArgs::default() },
            ext: args.ext,
            ..Self::default()
        }
    }
}
