//! Names of the defenses that the fault matrix removes, to prove that each of its rows fails
//! without them.
//!
//! This module is not part of the API. [`is_up`] is a constant: every defense is in place, in every
//! build that cargo features can describe. The only exception is a build with the compiler flag
//! `--cfg haft_undefended`, which no dependency can set. `cargo xtask faults --undefended` makes
//! that build in a separate target directory. Defenses that configuration can remove (a limit, a
//! timeout, the launcher) have no entry here.

macro_rules! defenses {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One defense: a decision in the code that a fault test relies on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Defense {
            $($(#[$doc])* $name,)*
        }

        impl Defense {
            /// Every defense.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

defenses! {
    /// Meters what a model server sends before it is parsed.
    AnswerBudget,
    /// Accepts a response only for a request of the same kind.
    AnswerKinds,
    /// Rejects arguments that do not fit the schema of a tool.
    ArgumentSchema,
    /// Keeps the old content of a file until the new content is complete.
    AtomicWrites,
    /// Skips blank lines without an error.
    BlankLines,
    /// Gives gates the arguments in the form that the tool reads.
    CanonicalArguments,
    /// Ignores directories in which others could have placed a program that runs an extension.
    CleanPath,
    /// Names the extension in a prompt from its command, so that haft never parses the prompt as a
    /// command.
    CommandOrigin,
    /// Writes a file to the path that was checked, even if the path has changed since.
    Containment,
    /// Rejects an object that contains a key twice.
    DuplicateKeys,
    /// Passes only listed environment variables of the host to an extension.
    EnvironmentList,
    /// Detects the end of an extension's process through the operating system.
    ExitStatus,
    /// Limits the prompts and messages with which extensions make the model work.
    ExtensionPrompts,
    /// Reports each failure as an event.
    FaultReports,
    /// Serializes changes of the same file.
    FileQueue,
    /// Asks a gate about the final arguments even if it allowed earlier ones.
    FinalArguments,
    /// Runs `git` so that it starts no program named by the user's settings or by a repository.
    HardenedGit,
    /// Requires `hello` as the first frame, exactly once.
    FirstFrame,
    /// Ends an extension that sends many lines in a row that are not UTF-8.
    GarbledLines,
    /// Validates a response about a tool call against the role and the tool of the request.
    GateAnswers,
    /// Blocks a tool call if its gate fails.
    GateFailures,
    /// Blocks every other guarded action if its gate fails.
    GatesFailClosed,
    /// Removes invisible characters from texts for a model.
    HiddenText,
    /// Checks the images of results.
    ImageCheck,
    /// Rejects a call that was written for an earlier version of the tool.
    KnownSchema,
    /// Ends host calls on files when the extension ends, and after a time limit.
    Leases,
    /// Ignores approvals in a lock file that other users can write.
    LockFile,
    /// Ends loops of extensions that send messages or write to the session, by a rate for each of them.
    LoopRate,
    /// Rejects a manifest with text that is not displayed as it is.
    ManifestText,
    /// Rejects a name that had to be repaired.
    MendedNames,
    /// Asks the user before an extension with additional permissions runs.
    MoreAsked,
    /// Limits the characters in names of tools and commands.
    Names,
    /// Keeps a name with the extension that registered it first.
    NamesTaken,
    /// Keeps working extensions if a reload finds an error.
    OldStays,
    /// Runs one reload at a time.
    OneReload,
    /// Reads and writes regular files only.
    OnlyFiles,
    /// Runs an extension in its own session, without a terminal.
    OwnSession,
    /// Counts a panic of an extension's task as a failure of the extension.
    PanicsCount,
    /// Refuses commands that change trust, approvals or extensions if a tool of haft runs them.
    PersonOnly,
    /// Runs only the approved files of an approved extension.
    PinnedCode,
    /// Uses the approved manifest of an approved extension, not the manifest in the install source.
    PinnedManifest,
    /// Ignores the contents of a project that the user does not trust.
    ProjectTrust,
    /// Cuts and fences the text that extensions add to the system prompt.
    PromptFence,
    /// Limits the registrations of an extension to its grant.
    Permissions,
    /// Rejects an extension with another protocol version.
    ProtocolVersion,
    /// Reassembles a line that arrives in pieces.
    Reassembly,
    /// Removes variables that would run other code from the environment of every extension.
    RefusedVariables,
    /// Reports the same mistake a few times, then counts it.
    ReportedOnce,
    /// Keeps a required gate, and the code of every gate, for the whole run.
    RequiredGates,
    /// Remembers required extensions outside of the lock file.
    RequiredRecord,
    /// Requires approval of the call before a hook can answer in place of the tool.
    ResponseApproval,
    /// Limits the length of a result.
    ResultLimits,
    /// Begins every row of an extension's text with its name.
    RowPrefix,
    /// Removes control sequences from text for a terminal.
    Sanitizer,
    /// Checks a schema before haft uses it.
    SchemaWork,
    /// Limits the host calls of an extension to its grant.
    ServiceGrants,
    /// Runs an approved gate only from the read-only store.
    SealedGates,
    /// Ends the calls that serve a request for which no caller waits.
    ServedRequests,
    /// Allows one writer for each session.
    SessionLock,
    /// Reads only the end of the file when a session is resumed.
    SessionTail,
    /// Installs an extension only from a plain directory or a repository URL.
    SourceRules,
    /// Requires a new read before a changed file is edited.
    StaleCheck,
    /// Reports a response that belongs to no open request.
    StrayAnswers,
    /// Reports a line that is not a frame, and fails the request that waits for it.
    StrictFrames,
    /// Compares the names of tools in filters without case and by alias.
    ToolAliases,
    /// Locks a tool whose texts differ from the approved ones.
    ToolTexts,
    /// Cuts off an incomplete last line of a session file before the next write.
    TornTails,
    /// Rejects a tree with links that lead out of it or with misleading names.
    TreeRules,
    /// Ignores a trust file that other users can write.
    TrustFile,
    /// Ends the trust in a project when its contents change.
    TrustedContent,
    /// Limits trust to one directory, without its subdirectories.
    TrustedPath,
    /// Ignores keys typed before a dialog appeared.
    TypeAhead,
    /// Ignores a call with the id of an open call.
    UniqueCalls,
    /// Gives every request a unique id.
    UniqueIds,
    /// Keeps a connection open after a frame of unknown type.
    UnknownTypes,
    /// Installs the code before the lock file allows it to run.
    WholeInstalls,
}

/// Returns `true`: every defense is in place.
#[cfg(not(haft_undefended))]
#[inline]
pub const fn is_up(_: Defense) -> bool {
    true
}

#[cfg(haft_undefended)]
pub use switches::{VARIABLE, is_up, take_down, taken_down};

#[cfg(haft_undefended)]
mod switches {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::Defense;

    /// The environment variable that lists the defenses to remove at the start of a process, in the
    /// format of [`taken_down`]. A row of the fault matrix sets it for the programs it starts.
    /// Debug builds only.
    pub const VARIABLE: &str = "HAFT_UNDEFENDED";

    static DOWN: LazyLock<Vec<AtomicBool>> = LazyLock::new(|| {
        // A release build ignores the variable even if the flag was set by mistake.
        let asked = std::env::var(VARIABLE).ok().filter(|_| cfg!(debug_assertions));
        let names = asked.unwrap_or_default();
        let down = |defense: &Defense| names.split(',').any(|name| name == format!("{defense:?}"));
        Defense::ALL.iter().map(|defense| AtomicBool::new(down(defense))).collect()
    });

    /// True if a defense is in place.
    pub fn is_up(defense: Defense) -> bool {
        !DOWN.get(defense as usize).is_some_and(|down| down.load(Ordering::Relaxed))
    }

    /// Removes a defense for the rest of this process.
    pub fn take_down(defense: Defense) {
        if let Some(down) = DOWN.get(defense as usize) {
            down.store(true, Ordering::Relaxed);
        }
    }

    /// Lists the removed defenses of this process, for [`VARIABLE`] of another process.
    pub fn taken_down() -> String {
        let down = Defense::ALL.iter().filter(|defense| !is_up(**defense));
        down.map(|defense| format!("{defense:?}")).collect::<Vec<_>>().join(",")
    }
}
