//! The command line of `haft ext`.

use clap::{Args, Subcommand, ValueEnum};

/// `haft ext …`.
#[derive(Debug, Args)]
pub(crate) struct ExtArgs {
    #[command(subcommand)]
    pub(crate) command: ExtCommand,
}

/// What can be done with extensions.
#[derive(Debug, Subcommand)]
pub(crate) enum ExtCommand {
    /// List the extensions of the user and of the project in the current directory
    ///
    /// Below the list stands what is wrong with whom, and what to do. SANDBOX is `-` for what is not run.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Copy an extension from a directory, or clone it by git; show what it would run, and ask. Nothing of it is run
    ///
    /// Of one that is installed already the new version takes the place: what changed is shown. Its data stays, and so does
    /// being disabled.
    Install {
        /// A directory, or an address that begins with https://, ssh:// or git@
        source: String,
        /// Approve what is shown without being asked
        #[arg(short, long)]
        yes: bool,
    },
    /// Approve an extension that lies in the extensions directory, or has changed there; show what it would run, and ask
    Trust {
        /// The name in its manifest, or of its directory
        name: String,
        /// Approve what is shown without being asked
        #[arg(short, long)]
        yes: bool,
    },
    /// Fetch extensions again from where they came from, show what changed, and ask
    Update {
        /// The name in its manifest; all that were installed without one
        name: Option<String>,
        /// Approve what is shown without being asked
        #[arg(short, long)]
        yes: bool,
    },
    /// Go back to the version of an extension that was approved before
    ///
    /// One that is not what was approved any more is passed over, and said.
    Rollback {
        /// The name in its manifest
        name: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Read all that was approved again, and say what is not as it was
    Verify {
        /// The name in its manifest; all of them without one
        name: Option<String>,
        /// Print a line of JSON for each
        #[arg(long)]
        json: bool,
    },
    /// Print what is approved: code, interpreter, where it came from
    Lock {
        /// As JSON, which is the lock file itself
        #[arg(long)]
        json: bool,
    },
    /// Remove an extension; its data, its log and files that were never approved stay; with --scope project its directory is deleted
    #[command(visible_alias = "rm")]
    Remove {
        #[command(flatten)]
        which: Which,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Let an extension run again
    Enable(Which),
    /// Keep an extension from running without removing it
    Disable(Which),
    /// Print what an extension wrote to its log
    Logs {
        /// The name in its manifest, or of its directory
        name: String,
        /// Go on printing as more is written
        #[arg(short, long)]
        follow: bool,
    },
}

/// How the extensions are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print all that is known of each: what is run, by which program, where, in which sandbox, approved when
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) long: bool,
    /// Print a line of JSON for each
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which extension is meant.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The name in its manifest, or of its directory
    pub(crate) name: String,
    /// Where it is: global without this. What belongs to the project is changed with `project` only
    #[arg(long)]
    pub(crate) scope: Option<Scope>,
}

/// Where an extension is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Installed for the user
    Global,
    /// In the project's .haft/extensions
    Project,
}
