//! Events that the host waits for: questions without a decision, for the role `wait`. Need the
//! capability `events_2`.
//!
//! ```json
//! {"type":"subscribe","intercept":[{"event":"agent_end","role":"wait"}]}
//! {"type":"event_intercept","id":"8","event":"agent_end"}
//! {"type":"event_intercept_response","id":"8"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::{RequestId, ToolCallId};
use crate::message::StopCause;
use crate::named_enum::named_enum;

named_enum! {
    /// The reason for the start of a session.
    pub enum SessionStartReason {
        /// The program started.
        Startup = "startup",
        /// The extension started or restarted during the session.
        Reload = "reload",
        /// The user began a new session.
        New = "new",
        /// The user opened a session from disk.
        Resume = "resume",
        /// The user copied a session.
        Fork = "fork",
    }
}

named_enum! {
    /// The reason for the end of a session, or of the extension.
    pub enum SessionShutdownReason {
        /// The session is closed, and no other session takes its place.
        Quit = "quit",
        /// The extension ends, and the session goes on.
        Reload = "reload",
        /// A new session takes its place.
        New = "new",
        /// A session from disk takes its place.
        Resume = "resume",
        /// A copy of a session takes its place.
        Fork = "fork",
    }
}

named_enum! {
    /// The author of a message.
    pub enum MessageRole {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

/// The session started. The first prompt of the session waits for the responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptSessionStart {
    /// The session's id, the same after a resume.
    pub session_id: String,
    /// The session file, which exists after the first message. Absent if the session is not
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_path: Option<String>,
    /// The reason.
    pub reason: SessionStartReason,
    /// The file of the session that was open before, for `new`, `resume` and `fork`. Absent if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
}

/// The session or the extension ends: `shutdown` follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptSessionShutdown {
    /// The reason.
    pub reason: SessionShutdownReason,
}

/// The agent begins to work on a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptAgentStart {}

/// The agent has stopped, also after an error or an abort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptAgentEnd {
    /// The error; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A step is finished, including its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptTurnEnd {
    /// The reason for the end of the step.
    pub stop: StopCause,
    /// The error; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A message of the user entered the transcript, or the model begins to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptMessageStart {
    /// The author of the message.
    pub role: MessageRole,
}

/// A tool has finished. Its result does not enter the transcript before the response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptToolEnd {
    /// The model's id of the call.
    pub tool_id: ToolCallId,
    /// The tool that ran.
    pub tool_name: String,
    /// The duration in milliseconds.
    pub duration_ms: u64,
}

macro_rules! waits {
    ($($question:ident => $kind:ident,)*) => {
        $(impl InterceptHook for $question {
            type Decision = ();

            const KIND: InterceptKind = InterceptKind::$kind;

            fn read(_: EventInterceptResponse) -> Result<(), AnswerError> {
                Ok(())
            }

            fn respond((): (), id: RequestId) -> EventInterceptResponse {
                EventInterceptResponse::pass_through(id)
            }
        })*

        impl InterceptKind {
            /// True if the host waits for the extension, which decides nothing.
            pub const fn is_wait(self) -> bool {
                matches!(self, $(Self::$kind)|*)
            }
        }
    };
}

waits! {
    InterceptSessionStart => SessionStart,
    InterceptSessionShutdown => SessionShutdown,
    InterceptAgentStart => AgentStart,
    InterceptAgentEnd => AgentEnd,
    InterceptTurnEnd => TurnEnd,
    InterceptMessageStart => MessageStart,
    InterceptToolEnd => ToolEnd,
}
