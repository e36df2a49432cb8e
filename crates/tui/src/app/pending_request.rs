//! Pending requests and the uses of their replies.

use crate::editor::Submission;
use crate::queue::MessageQueue;

/// The use of a reply.
#[derive(Debug)]
pub(super) enum PendingRequest {
    Hello,
    /// The state of the session. The reply is out of date for the activity or the queue if that revision has changed
    /// since.
    State {
        work_revision: u64,
        queue_revision: u64,
    },
    Commands,
    Extensions(ListUse),
    Jobs(ListUse),
    Models(ListUse),
    Sessions(ListUse),
    Tools(ListUse),
    Tree,
    Prompt(Box<Submission>),
    /// A steering message or a follow-up.
    QueuedMessage(Box<Submission>),
    /// A message or a command in a session that is no longer shown.
    PreviousSessionMessage(Box<Submission>),
    /// The last known queue of a session that is no longer shown, and the session that continues it.
    PreviousSessionQueue(Box<MessageQueue>, Option<String>),
    ShellOutput,
    /// A command that is not built in.
    Command(Box<Submission>),
    Completions(String, String),
    Abort,
    TakeQueued(TakeBackUse),
    Model,
    Thinking,
    SetTools,
    SessionCreated,
    /// The new session gets the model of the previous one.
    ModelCarriedOver(String),
    Switched,
    Cleared,
    Compacted,
    Reloaded,
    Renamed(Option<String>),
    Moved,
    Answered,
    /// The shortcut of an extension.
    Shortcut,
    /// Only a failure is reported.
    ErrorsOnly,
    Ignored,
}

/// The use of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListUse {
    /// The list is only cached.
    CacheOnly,
    Picker,
    One(String),
}

/// The use of the messages that were removed from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeBackUse {
    /// The messages are moved into the composer.
    Editor,
    /// The messages are sent again, because the agent has become idle.
    Resend,
}

impl PendingRequest {
    pub(super) fn is_completions(&self) -> bool {
        matches!(self, Self::Completions(..))
    }

    /// Returns the use of the reply after the session of the request was left, or `None` if the reply no longer
    /// matters.
    pub(super) fn into_previous_session(
        self,
        queue: &MessageQueue,
        continued_by: Option<&str>,
    ) -> Option<Self> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the other requests only concern the session that was shown"
        )]
        match self {
            Self::Prompt(message) | Self::QueuedMessage(message) | Self::Command(message) => {
                Some(Self::PreviousSessionMessage(message))
            }
            Self::TakeQueued(_) => {
                Some(Self::PreviousSessionQueue(Box::new(queue.clone()), continued_by.map(str::to_owned)))
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

    /// True for a request of the user that an extension may answer with a panel.
    pub(super) fn opens_panels(&self) -> bool {
        matches!(self, Self::Command(_) | Self::Shortcut)
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
