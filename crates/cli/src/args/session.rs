//! The command line of sessions: the session that a run continues, and `haft session`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use haft_config::SecretString;

use super::{AgentArgs, ExtensionArgs, ModelArgs, ProviderValueParser, RunArgs};

/// The session that a run continues.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Continue the most recent session in this directory
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["resume", "session", "no_session"])]
    pub(crate) go_on: bool,
    /// Continue a session by the beginning of its id, or choose one
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
    /// Continue the session in this file, or by its id
    #[arg(long, value_name = "PATH|ID", conflicts_with = "no_session", value_hint = ValueHint::FilePath)]
    pub(crate) session: Option<String>,
    /// Do not record the session
    #[arg(long)]
    pub(crate) no_session: bool,
}

/// `haft session …`.
#[derive(Debug, Args)]
pub(crate) struct SessionCommandArgs {
    /// Use this directory as the current one
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

/// The commands of `haft session`. An ID is the beginning of an id, a file, or `last`: the most recent session of this
/// directory.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the sessions of this directory, the latest first
    #[command(visible_alias = "ls")]
    List {
        /// Include all directories
        #[arg(long)]
        all: bool,
        /// Print a line of JSON for each session
        #[arg(long)]
        json: bool,
    },
    /// Print a session: messages, tool calls and cost
    Show {
        #[command(flatten)]
        which: SessionSelector,
        /// Print the messages, settings and cost as JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw the branches of a session
    Tree(SessionSelector),
    /// Copy a session, up to an entry, and print the copy's id
    Fork {
        #[command(flatten)]
        which: SessionSelector,
        /// End the copy at this entry of `haft session tree`
        #[arg(long, value_name = "ENTRY", value_hint = ValueHint::Other)]
        at: Option<String>,
    },
    /// Rename a session; an empty name removes the name
    Rename {
        #[command(flatten)]
        which: SessionSelector,
        /// Set this name
        #[arg(value_hint = ValueHint::Other)]
        name: String,
    },
    /// Label an entry; without LABEL, remove the label
    Label {
        #[command(flatten)]
        which: SessionSelector,
        /// Name the entry by its id in `haft session tree`
        #[arg(value_hint = ValueHint::Other)]
        entry: String,
        /// Set this label
        #[arg(value_hint = ValueHint::Other)]
        label: Option<String>,
    },
    /// Add tags to a session
    Tag {
        #[command(flatten)]
        which: SessionSelector,
        /// Set these tags, as KEY or KEY=VALUE
        #[arg(required = true, value_name = "TAG", value_hint = ValueHint::Other)]
        tags: Vec<String>,
        /// Remove these tags instead
        #[arg(long)]
        remove: bool,
    },
    /// Write a session to a shareable file or an HTML page
    ///
    /// The exported file does not contain your paths.
    Export(ExportArgs),
    /// Import a session of haft, pi or zot, and print its id
    ///
    /// haft runs nothing from the file. Without FILE, haft imports all sessions below $ZOT_HOME, each into its directory,
    /// after asking.
    Import(ImportArgs),
    /// Summarize a session to free context
    Compact(Box<CompactArgs>),
    /// Delete a session permanently
    Rm {
        #[command(flatten)]
        which: SessionSelector,
        /// Skip the question
        #[arg(short, long)]
        yes: bool,
    },
}

/// The selected session.
#[derive(Debug, Args)]
pub(crate) struct SessionSelector {
    /// Name the session by id prefix, file path, or `last`
    ///
    /// `last` is the most recent session of this directory.
    #[arg(value_name = "ID", value_hint = ValueHint::FilePath)]
    pub(crate) id: String,
}

/// `haft session export …`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) which: SessionSelector,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write one self-contained HTML page
    #[arg(long)]
    pub(crate) html: bool,
    /// Export the branch that ends with this entry
    #[arg(long, value_name = "ENTRY", value_hint = ValueHint::Other)]
    pub(crate) at: Option<String>,
    /// Include all other branches
    #[arg(long)]
    pub(crate) all_branches: bool,
}

/// `haft session import …`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Read this file; `-` is standard input
    ///
    /// The file is an export or a session file of haft, a session file of pi, or a .zotsession.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Set the name of the session
    #[arg(long, value_hint = ValueHint::Other, requires = "file")]
    pub(crate) name: Option<String>,
    /// Import the sessions of zot without a question
    #[arg(short, long, conflicts_with = "file")]
    pub(crate) yes: bool,
}

/// `haft session compact …`.
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    pub(crate) which: SessionSelector,
    /// Add instructions for the summary; words are joined by spaces
    #[arg(value_name = "INSTRUCTIONS", value_hint = ValueHint::Other)]
    pub(crate) instructions: Vec<String>,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The working directory: `--cwd` of `haft session`.
    #[arg(skip)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    model: SummaryModelArgs,
    #[command(flatten)]
    ext: ExtensionArgs,
}

/// The model that writes the summary.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
struct SummaryModelArgs {
    /// Select the provider of the model that writes the summary
    ///
    /// By default, the session's model writes the summary. The flag does not change the session's model.
    #[arg(long, value_name = "NAME", value_parser = ProviderValueParser, hide_possible_values = true)]
    provider: Option<String>,
    /// Select the model by its id, or as PROVIDER/ID
    #[arg(long, value_name = "ID", value_hint = ValueHint::Other)]
    model: Option<String>,
    /// Use this API key; a variable or `haft login` is safer
    ///
    /// Other users of this machine can see it in the list of processes.
    #[arg(long, value_name = "KEY", value_hint = ValueHint::Other)]
    api_key: Option<SecretString>,
    /// Use the provider at this address
    #[arg(long, value_name = "URL", value_hint = ValueHint::Other)]
    base_url: Option<String>,
    /// Fall back to these models in order; comma-separated
    ///
    /// haft asks them while the first model is at its rate limit or down, or rejects the key.
    #[arg(long, value_name = "PROVIDER/MODEL", value_delimiter = ',', value_hint = ValueHint::Other)]
    fallback: Option<Vec<String>>,
}

/// Converts the arguments into those of the run that compacts the session.
impl From<CompactArgs> for RunArgs {
    fn from(args: CompactArgs) -> Self {
        let SummaryModelArgs { provider, model, api_key, base_url, fallback } = args.model;
        Self {
            json: args.json,
            model: ModelArgs { provider, model, api_key, base_url, fallback, ..ModelArgs::default() },
            agent: AgentArgs { cwd: args.cwd, ..AgentArgs::default() },
            ext: args.ext,
            ..Self::default()
        }
    }
}
