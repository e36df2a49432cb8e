//! Requests under way, and the uses of their replies.

use crate::editor::Submission;
use crate::queue::MessageQueue;

/// The use of a reply.
#[derive(Debug)]
pub(super) enum Pending {
    Hello,
    /// The reply has the state of the session. Where it says that nothing is worked on, that counts if nothing has
    /// begun since; what it says that waits counts if nothing was told of that since.
    State {
        begun: u64,
        told: u64,
    },
    Commands,
    Extensions(Shown),
    Models(Shown),
    Sessions(Shown),
    Tools(Shown),
    Tree,
    Prompt(Box<Submission>),
    /// Something said to the agent at work.
    Said(Box<Submission>),
    /// A prompt, a command or something said to an agent, in a session that is not shown any more.
    Before(Box<Submission>),
    /// The queue of a session that is not shown any more, as it was known, and the session that continues it.
    Left(Box<MessageQueue>, Option<String>),
    ShellSaid,
    /// A command that is not haft's own.
    Command(Box<Submission>),
    Completions(String, String),
    Abort,
    Taken(Taken),
    Model,
    Thinking,
    SetTools,
    Made,
    /// The reply says that this session has the model of the one before it.
    CarriedOver(String),
    Switched,
    Cleared,
    Compacted,
    Reloaded,
    Named(Option<String>),
    Moved,
    Answered,
    /// Nothing more; a failure is said.
    Quiet,
    Silent,
}

/// The use of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// It is only to be known.
    No,
    Picker,
    One(String),
}

/// The use of the messages that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It comes back into the editor.
    Editor,
    /// It is said at once: nothing works on it.
    Sent,
}

impl Pending {
    pub(super) fn is_completions(&self) -> bool {
        matches!(self, Self::Completions(..))
    }

    /// Returns the use once the session that was shown when the request was sent is not shown any more.
    pub(super) fn left(self, queue: &MessageQueue, goes_on: Option<&str>) -> Option<Self> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all else is about what was shown")]
        match self {
            Self::Prompt(said) | Self::Said(said) | Self::Command(said) => Some(Self::Before(said)),
            Self::Taken(_) => Some(Self::Left(Box::new(queue.clone()), goes_on.map(str::to_owned))),
            kept @ (Self::Before(_) | Self::Left(..) | Self::CarriedOver(_)) => Some(kept),
            kept @ (Self::Hello | Self::Quiet | Self::Silent | Self::Answered) => Some(kept),
            _ => None,
        }
    }

    pub(super) fn is_left(&self) -> bool {
        matches!(self, Self::Left(..))
    }

    pub(super) fn is_models(&self) -> bool {
        matches!(self, Self::Models(_))
    }

    pub(super) fn is_sessions(&self) -> bool {
        matches!(self, Self::Sessions(_))
    }

    pub(super) fn is_tools(&self) -> bool {
        matches!(self, Self::Tools(_))
    }
}
