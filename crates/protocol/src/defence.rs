//! The defences that a test can take down, to show that it would notice.
//!
//! A fault test proves something only if it fails without the defence it is about. With the feature `undefended`,
//! which nothing but `haft-faults` asks for, a defence can be taken down for the whole process; without it
//! [`is_up`] is a constant and costs nothing. What can be taken down by configuration (a limit, a timeout, the
//! launcher) has no entry here.

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
    /// Blank lines are no frames and no fault.
    BlankLines,
    /// A key that stands twice in one object is refused.
    DuplicateKeys,
    /// An extension gets only those variables of the host's environment that are on a list.
    EnvironmentList,
    /// The end of an extension's process is noticed by the system's word.
    ExitStatus,
    /// What fails is reported as an event.
    FaultReports,
    /// Hello is the first frame, and the only one of its kind.
    FirstFrame,
    /// An extension that sends line after line that is no text is ended.
    GarbledLines,
    /// What a gate guards does not happen when the gate fails.
    GatesFailClosed,
    /// A tool that changed is not called with what was written for it as it was.
    KnownSchema,
    /// A name that had to be mended is refused.
    MendedNames,
    /// A reload that finds something broken leaves what works in its place.
    OldStays,
    /// Reloads come one after the other.
    OneReload,
    /// The end of an extension's task is a failure of the extension.
    PanicsCount,
    /// An extension that speaks another version of the protocol is refused.
    ProtocolVersion,
    /// A line that comes in pieces is one line.
    Reassembly,
    /// The same mistake is reported a few times and then counted.
    ReportedOnce,
    /// An answer to no open question is reported.
    StrayAnswers,
    /// A line that is no frame is reported, and whoever waits for it is told.
    StrictFrames,
    /// No two questions have one id.
    UniqueIds,
    /// A frame of an unknown type does not end a connection.
    UnknownTypes,
}

/// Whether a defence is in place.
#[cfg(not(feature = "undefended"))]
#[inline]
pub const fn is_up(_: Defence) -> bool {
    true
}

#[cfg(feature = "undefended")]
pub use switches::{is_up, take_down};

#[cfg(feature = "undefended")]
mod switches {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Defence;

    static DOWN: AtomicU64 = AtomicU64::new(0);

    /// Whether a defence is in place.
    pub fn is_up(defence: Defence) -> bool {
        DOWN.load(Ordering::Relaxed) & (1 << defence as u64) == 0
    }

    /// Takes a defence down for the rest of this process. Only for tests of tests.
    pub fn take_down(defence: Defence) {
        DOWN.fetch_or(1 << defence as u64, Ordering::Relaxed);
    }
}
