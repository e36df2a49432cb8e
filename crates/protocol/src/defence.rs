//! Names of the defences that the fault matrix removes to prove that each of its rows fails without them.
//!
//! This module is not part of the API. [`is_up`] is a constant: every defence is in place, in every build that cargo
//! features can describe. The only exception is a build with the compiler flag `--cfg haft_undefended`, which no
//! dependency can set; `cargo xtask faults --undefended` makes it, in a target directory of its own. Defences that
//! configuration can remove (a limit, a timeout, the launcher) have no entry here.

macro_rules! defences {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One defence: a decision in the code that a fault test relies on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Defence {
            $($(#[$doc])* $name,)*
        }

        impl Defence {
            /// Every defence.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

defences! {
    /// An answer counts only for a question of its kind.
    AnswerKinds,
    /// Arguments that do not fit a tool's schema do not reach it.
    ArgumentSchema,
    /// A file has its old content until it has the new one.
    AtomicWrites,
    /// Blank lines are no frames and no fault.
    BlankLines,
    /// No program that runs an extension is found where others could have put it.
    CleanPath,
    /// The prompt that an extension's command brings says whose it is, and so never reads as a command itself.
    CommandOrigin,
    /// A file is written where it was looked up, whatever is put in the way.
    Containment,
    /// A key that stands twice in one object is refused.
    DuplicateKeys,
    /// An extension gets only those variables of the host's environment that are on a list.
    EnvironmentList,
    /// The end of an extension's process is noticed by the system's word.
    ExitStatus,
    /// What fails is reported as an event.
    FaultReports,
    /// Changes of one file wait for each other.
    FileQueue,
    /// Whoever allowed earlier arguments is asked about the final ones.
    FinalArguments,
    /// `git` is called so that it starts nothing that the user's settings or a repository name.
    HardenedGit,
    /// Hello is the first frame, and the only one of its kind.
    FirstFrame,
    /// An extension that sends line after line that is no text is ended.
    GarbledLines,
    /// An answer about a tool call is held against the role and the tool that were asked about.
    GateAnswers,
    /// A tool call whose gate fails is blocked.
    GateFailures,
    /// What a gate guards does not happen when the gate fails.
    GatesFailClosed,
    /// What nobody can see is taken out of texts for a model.
    HiddenText,
    /// Images of results are looked at.
    ImageCheck,
    /// A tool that changed is not called with what was written for it as it was.
    KnownSchema,
    /// What an extension has the host do with a file ends with the extension, and after a while.
    Leases,
    /// A file that somebody else may have written approves no extension.
    LockFile,
    /// A manifest that holds what is not shown as it is is refused.
    ManifestText,
    /// A name that had to be mended is refused.
    MendedNames,
    /// What asks for more than it was granted does not run before somebody has agreed.
    MoreAsked,
    /// Names of tools and commands are made of few characters.
    Names,
    /// An earlier extension keeps its name.
    NamesTaken,
    /// A reload that finds something broken leaves what works in its place.
    OldStays,
    /// Reloads come one after the other.
    OneReload,
    /// Only regular files are read and written.
    OnlyFiles,
    /// An extension runs in a session of its own, without a terminal.
    OwnSession,
    /// The end of an extension's task is a failure of the extension.
    PanicsCount,
    /// What is started of an approved extension is what was approved.
    PinnedCode,
    /// Of an approved extension the manifest counts that was approved, and not what was read where it lies.
    PinnedManifest,
    /// A project that nobody trusts is not obeyed.
    ProjectTrust,
    /// What extensions add to the system prompt is cut, and stands in a fence.
    PromptFence,
    /// An extension registers only what it was granted.
    Permissions,
    /// An extension that speaks another version of the protocol is refused.
    ProtocolVersion,
    /// A line that comes in pieces is one line.
    Reassembly,
    /// No extension gets a variable that has other code run.
    RefusedVariables,
    /// The same mistake is reported a few times and then counted.
    ReportedOnce,
    /// What a hook answers in the place of a tool counts only once whoever approves calls has approved the call.
    ResponseApproval,
    /// A result has a largest length.
    ResultLimits,
    /// Every row of an extension's text begins with its name.
    RowPrefix,
    /// A terminal is not sent what it would obey.
    Sanitiser,
    /// A schema is looked at before it is used.
    SchemaWork,
    /// An extension reaches no further through the host than it was granted.
    ServiceGrants,
    /// A session is written by one.
    SessionLock,
    /// Going on with a session reads the end of its file only.
    SessionTail,
    /// An extension is installed from what is plainly a directory or the address of a repository.
    SourceRules,
    /// A file that changed since it was read is not changed before it is read again.
    StaleCheck,
    /// An answer to no open question is reported.
    StrayAnswers,
    /// A line that is no frame is reported, and whoever waits for it is told.
    StrictFrames,
    /// A tool whose texts are others than those that came with what was approved is locked.
    ToolTexts,
    /// The torn end of a session file is cut off before the next line.
    TornTails,
    /// A tree whose links lead out of it, or whose names are not what they seem, is not copied.
    TreeRules,
    /// A file that somebody else may have written says nothing about trust.
    TrustFile,
    /// Trust in a project ends when what lies in it changes.
    TrustedContent,
    /// Trust is in one directory, and in none below it.
    TrustedPath,
    /// What was typed before a question does not answer it.
    TypeAhead,
    /// No two questions have one id.
    UniqueIds,
    /// A frame of an unknown type does not end a connection.
    UnknownTypes,
    /// Code is in its place before anything says that it may run.
    WholeInstalls,
}

/// True: every defence is in place.
#[cfg(not(haft_undefended))]
#[inline]
pub const fn is_up(_: Defence) -> bool {
    true
}

#[cfg(haft_undefended)]
pub use switches::{VARIABLE, is_up, take_down, taken_down};

#[cfg(haft_undefended)]
mod switches {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::Defence;

    /// The environment variable that lists the defences to take down at the start of a process, as [`taken_down`]
    /// prints them: a row of the fault matrix sets it for the programs it starts. Debug builds only.
    pub const VARIABLE: &str = "HAFT_UNDEFENDED";

    static DOWN: LazyLock<Vec<AtomicBool>> = LazyLock::new(|| {
        // A release build ignores the variable even if the flag was set by mistake.
        let asked = std::env::var(VARIABLE).ok().filter(|_| cfg!(debug_assertions));
        let names = asked.unwrap_or_default();
        let down = |defence: &Defence| names.split(',').any(|name| name == format!("{defence:?}"));
        Defence::ALL.iter().map(|defence| AtomicBool::new(down(defence))).collect()
    });

    /// True if a defence is in place.
    pub fn is_up(defence: Defence) -> bool {
        !DOWN.get(defence as usize).is_some_and(|down| down.load(Ordering::Relaxed))
    }

    /// Takes a defence down for the rest of this process.
    pub fn take_down(defence: Defence) {
        if let Some(down) = DOWN.get(defence as usize) {
            down.store(true, Ordering::Relaxed);
        }
    }

    /// Lists the defences that are down in this process, for [`VARIABLE`] of another process.
    pub fn taken_down() -> String {
        let down = Defence::ALL.iter().filter(|defence| !is_up(**defence));
        down.map(|defence| format!("{defence:?}")).collect::<Vec<_>>().join(",")
    }
}
