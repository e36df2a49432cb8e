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
    /// Below the list stands what is wrong with whom, and what to do. SANDBOX is `-` for what is not run.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Install an extension from a directory or a git address
    ///
    /// haft shows what the extension would run, and asks. Nothing of it is run.
    ///
    /// Of one that is installed already the new version takes the place: what changed is shown. Its data stays, and so
    /// does being disabled.
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
    /// Update extensions from their sources, after a question
    Update {
        /// Name the extension; without NAME, update all
        name: Option<String>,
        /// Approve without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Go back to the version that was approved before
    ///
    /// One that is not what was approved any more is passed over, and said.
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
        /// Print a line of JSON for each
        #[arg(long)]
        json: bool,
    },
    /// Print the approved code, interpreters and sources
    Lock {
        /// Print the lock file itself, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Import process hooks into config.toml, after a question
    Import {
        /// Name the program
        from: HookImportSource,
        /// Read this config.json of PicoClaw
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Write without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Remove an extension and keep its data and log
    ///
    /// Files that were never approved stay, too. With --scope project, its directory is deleted.
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

/// A program whose hooks haft runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookImportSource {
    /// PicoClaw
    Picoclaw,
}

/// The flags of `haft ext list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print every detail: program, place, sandbox, approval
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) long: bool,
    /// Print a line of JSON for each
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which extension is meant.
#[derive(Debug, Args)]
pub(crate) struct ExtensionSelector {
    /// Name the extension, or its directory
    pub(crate) name: String,
    /// Select the scope: global by default
    ///
    /// Extensions of the project are changed with `project` only.
    #[arg(long)]
    pub(crate) scope: Option<ExtensionScope>,
}

/// Where an extension is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExtensionScope {
    /// Select extensions of the user
    Global,
    /// Select extensions in the project's .haft/extensions
    Project,
}
