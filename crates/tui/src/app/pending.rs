//! Requests under way, and the uses of their replies.

use crate::editor::Submission;
use crate::queue::MessageQueue;

/// The use of a reply.
#[derive(Debug)]
pub(super) enum PendingRequest {
    Hello,
    /// The reply has the state of the session. Where it says that nothing is worked on, that counts if nothing has
    /// begun since; what it says that waits counts if nothing was told of that since.
    State {
        work_revision: u64,
        queue_revision: u64,
    },
    Commands,
    Extensions(ListUse),
    Models(ListUse),
    Sessions(ListUse),
    Tools(ListUse),
    Tree,
    Prompt(Box<Submission>),
    /// Something said to the agent at work.
    QueuedMessage(Box<Submission>),
    /// A prompt, a command or something said to an agent, in a session that is not shown any more.
    PreviousSessionMessage(Box<Submission>),
    /// The queue of a session that is not shown any more, as it was known, and the session that continues it.
    PreviousSessionQueue(Box<MessageQueue>, Option<String>),
    ShellOutput,
    /// A command that is not haft's own.
    Command(Box<Submission>),
    Completions(String, String),
    Abort,
    TakeQueued(TakeBackUse),
    Model,
    Thinking,
    SetTools,
    SessionCreated,
    /// The reply says that this session has the model of the one before it.
    ModelCarriedOver(String),
    Switched,
    Cleared,
    Compacted,
    Reloaded,
    Renamed(Option<String>),
    Moved,
    Answered,
    /// Nothing more; a failure is said.
    ErrorsOnly,
    Ignored,
}

/// The use of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListUse {
    /// It is only to be known.
    CacheOnly,
    Picker,
    One(String),
}

/// The use of the messages that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeBackUse {
    /// It comes back into the editor.
    Editor,
    /// It is said at once: nothing works on it.
    Resend,
}

impl PendingRequest {
    pub(super) fn is_completions(&self) -> bool {
        matches!(self, Self::Completions(..))
    }

    /// Returns the use once the session that was shown when the request was sent is not shown any more.
    pub(super) fn into_previous_session(self, queue: &MessageQueue, goes_on: Option<&str>) -> Option<Self> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all else is about what was shown")]
        match self {
            Self::Prompt(said) | Self::QueuedMessage(said) | Self::Command(said) => {
                Some(Self::PreviousSessionMessage(said))
            }
            Self::TakeQueued(_) => {
                Some(Self::PreviousSessionQueue(Box::new(queue.clone()), goes_on.map(str::to_owned)))
            }
            kept @ (Self::PreviousSessionMessage(_)
            | Self::PreviousSessionQueue(..)
            | Self::ModelCarriedOver(_)) => Some(kept),
            kept @ (Self::Hello | Self::ErrorsOnly | Self::Ignored | Self::Answered) => Some(kept),
            _ => None,
        }
    }

    pub(super) fn is_previous_session_queue(&self) -> bool {
        matches!(self, Self::PreviousSessionQueue(..))
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
