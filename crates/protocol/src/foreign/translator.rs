//! The port for an extension that speaks another protocol: its lines as native frames, and back.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::codec::{LineLimits, PlainSpan};
use crate::event::AgentEvent;
use crate::ext::{EventInterceptResponse, ExtensionConfig, ExtensionFrame, HostFrame, InterceptKind};
use crate::ids::{ExtensionName, RequestId};

/// The facts about a host and about the extension.
#[derive(Debug, Clone)]
pub struct PeerSetup {
    /// The extension's name.
    pub name: ExtensionName,
    /// The user's settings for the extension.
    pub config: Option<ExtensionConfig>,
    /// The agent's directory.
    pub workspace: String,
    /// A name of this run of the program that no other run has.
    pub run: String,
    /// The name of the user.
    pub user: String,
    /// Returns the current time, RFC 3339.
    pub now: fn() -> String,
}

/// Another protocol, with the user's settings for one extension that speaks it.
pub trait ForeignDialect: fmt::Debug + Send + Sync {
    /// Creates the extension for a host.
    fn open_peer(&self, setup: PeerSetup) -> Arc<dyn ForeignPeer>;

    /// True if the extension is asked at this hook, whether it runs or not.
    fn takes_part(&self, hook: InterceptKind) -> bool;

    /// True if the user sees an answer of the model only after the extension has seen it.
    fn suppresses_deltas(&self) -> bool;

    /// Returns the extension's name of a tool.
    fn foreign_tool_name<'a>(&self, tool: &'a str) -> &'a str;
}

/// An extension that speaks another protocol, across all its processes.
pub trait ForeignPeer: fmt::Debug + Send + Sync {
    /// Creates the translator for a new process.
    fn new_translator(self: Arc<Self>) -> Box<dyn LineTranslator>;

    /// Sets the id of the session.
    fn set_session(&self, id: &str);

    /// Records an event of the agent, and returns the lines about it, newlines included. An event is not a frame here:
    /// the translator would only decode it again.
    fn translate_event(&self, event: &AgentEvent, at: Instant) -> Vec<String>;

    /// Returns the name of a hook, for people.
    fn hook_label(&self, hook: InterceptKind) -> &'static str;

    /// Returns the text for the model about a call that a failure of this hook blocked. `reason` describes the failure.
    fn denial_text(&self, hook: InterceptKind, failure: DecisionFailure, reason: &str) -> String;
}

/// The failure of an extension to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionFailure {
    /// No answer before the deadline.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// Any other failure.
    Other,
}

/// The id of the host's first request; the opening line may have the number before it. Further ids follow without gaps.
pub const FIRST_REQUEST: u64 = 2;

/// The translator of one connection. The ids of the host's requests are numbers from [`FIRST_REQUEST`].
pub trait LineTranslator: fmt::Debug + Send {
    /// Returns the first line of the host, newline included.
    ///
    /// # Errors
    /// The reason why the line has no JSON form.
    fn opening_line(&self) -> Result<String, String>;

    /// Returns the phrase about an extension that does not begin in time, without the time.
    fn silence_text(&self) -> &'static str;

    /// Returns the line for a frame, newline included; `None` if the other protocol has no such line.
    ///
    /// # Errors
    /// The reason why the frame cannot be sent.
    fn translate_frame(&mut self, frame: HostFrame) -> Result<Option<String>, String>;

    /// Translates a line of the extension, without its newline. The plain span `known` must be correct for the line.
    fn translate_line(&mut self, line: &[u8], bounds: LineLimits, known: PlainSpan) -> Vec<TranslatedPart>;
}

/// A line of the extension, or a part of it, for the host.
#[derive(Debug)]
pub enum TranslatedPart {
    /// A frame that answers no request.
    Frame(Box<ExtensionFrame>),
    /// The answer to an open request.
    Answer(Box<ForeignAnswer>),
    /// The answer to a request that is not open.
    Stray(RequestId),
    /// The extension refuses to begin, with the text about it.
    Refusal(String),
    /// A line that is skipped because it is not a message.
    Skipped {
        /// The text about the line.
        text: String,
        /// True if the author probably expects an effect of the line.
        is_mistake: bool,
    },
    /// A text for the log.
    Log(String),
}

/// The answer to a request.
#[derive(Debug)]
pub struct ForeignAnswer {
    /// The id of the request.
    pub id: RequestId,
    /// The answer, or the failure that counts as one.
    pub outcome: Result<Box<EventInterceptResponse>, BadAnswer>,
    /// Mistakes beside a valid answer, for the user.
    pub reports: Vec<String>,
    /// Remarks about the answer, for the developer's log.
    pub notes: Vec<String>,
}

/// An answer without a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadAnswer {
    /// The extension failed, or the line cannot be read.
    Failed(String),
    /// The answer does not fit its request.
    Invalid(String),
}
