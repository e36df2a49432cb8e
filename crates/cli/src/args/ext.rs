//! The command line of `haft ext`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

/// `haft ext …`.
#[derive(Debug, Args)]
pub(crate) struct ExtArgs {
    #[command(subcommand)]
    pub(crate) command: ExtCommand,
}

/// The commands of `haft ext`.
#[derive(Debug, Subcommand)]
pub(crate) enum ExtCommand {
    /// List your extensions and those of this project
    ///
    /// Problems and next steps follow the list. SANDBOX is `-` for extensions that do not run.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Install an extension from a directory or a git address
    ///
    /// haft shows what the extension would run, and asks. It runs nothing of the extension.
    ///
    /// If the extension is already installed, haft shows the changes and replaces it with the new version. Its data
    /// stays, and a disabled extension stays disabled.
    Install {
        /// Read this directory, or https://…, ssh://… or git@…
        source: String,
        /// Approve without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Approve an extension in the extensions directory
    ///
    /// haft shows what the extension would run, or what changed, and asks.
    Trust {
        /// Name the extension, or its directory
        name: String,
        /// Approve without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Update extensions from their install sources, after asking
    Update {
        /// Name the extension; without NAME, update all
        name: Option<String>,
        /// Approve without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Roll back to the previously approved version
    ///
    /// haft skips and reports versions that changed since their approval.
    Rollback {
        /// Name the extension
        name: String,
        /// Skip the question
        #[arg(short, long)]
        yes: bool,
    },
    /// Verify that approved extensions are unchanged
    Verify {
        /// Name the extension; without NAME, verify all
        name: Option<String>,
        /// Print a line of JSON for each extension
        #[arg(long)]
        json: bool,
    },
    /// Print the approved code, interpreters and sources
    Lock {
        /// Print the lock file itself, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Import from another program, after asking
    ///
    /// From PicoClaw: process hooks, into config.toml. From zot: extensions, which you approve one by one, themes and
    /// skills, below $ZOT_HOME. haft replaces no file and runs nothing.
    Import {
        /// Name the program
        from: ImportSource,
        /// Read this config.json of PicoClaw
        #[arg(value_hint = ValueHint::FilePath, required_if_eq("from", "picoclaw"))]
        file: Option<PathBuf>,
        /// Write without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Remove an extension and keep its data and log
    ///
    /// Files that were never approved are kept too. With --scope project, the directory of the extension is deleted.
    #[command(visible_alias = "rm")]
    Remove {
        #[command(flatten)]
        which: ExtensionSelector,
        /// Skip the question
        #[arg(short, long)]
        yes: bool,
    },
    /// Enable an extension
    Enable(ExtensionSelector),
    /// Disable an extension without removing it
    Disable(ExtensionSelector),
    /// Print the log of an extension
    Logs {
        /// Name the extension, or its directory
        name: String,
        /// Follow the log as it grows
        #[arg(short, long)]
        follow: bool,
    },
}

/// A program from which haft can import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportSource {
    /// PicoClaw
    Picoclaw,
    /// zot
    Zot,
}

/// The flags of `haft ext list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print every detail: program, location, sandbox, approval
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) long: bool,
    /// Print a line of JSON for each extension
    #[arg(long)]
    pub(crate) json: bool,
}

/// The selected extension.
#[derive(Debug, Args)]
pub(crate) struct ExtensionSelector {
    /// Name the extension, or its directory
    pub(crate) name: String,
    /// Select the scope: global by default
    ///
    /// Extensions of the project change only with `project`.
    #[arg(long)]
    pub(crate) scope: Option<ExtensionScope>,
}

/// The location of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExtensionScope {
    /// Select extensions of the user
    Global,
    /// Select extensions in the project's .haft/extensions
    Project,
}
