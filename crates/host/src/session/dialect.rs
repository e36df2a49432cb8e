//! Differences between the dialects that extensions speak: who says hello first, how words become a line and a line
//! words, and what is said at the end. Everything else is the session's, and the same for all of them.

use haft_protocol::RawJson;
use haft_protocol::codec::{self, LineLimits};
use haft_protocol::ext::{HostFrame, QueryResponse, Shutdown};
use haft_protocol::hook::{Call, CallLine, HookHello, HookQuestion};

use super::greeting::PreparedHelloAck;
use super::ids::RequestIdGenerator;
use super::pending::QuestionKind;
use crate::wire::decode::LineDecoder;

/// The number of the first call of a hook.
pub(crate) const HELLO: u64 = 1;

/// The dialect of one connection, and its first message.
#[derive(Debug, Clone)]
pub(crate) enum SessionDialect {
    /// The native dialect: the extension says hello and is answered with this. Gone once it was.
    Native(Option<Box<PreparedHelloAck>>),
    /// The dialect of PicoClaw's hooks: the host says hello, and from then on a hook only answers.
    Hook(HookHello),
}

/// A message for an extension.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box for each frame would cost more than its room")]
pub(crate) enum OutboundMessage {
    Frame(HostFrame),
    /// A call of a hook, as a line: it may be as long as the conversation, so whoever asks writes it.
    Call(String),
    /// A message for a hook, as a line.
    Event(String),
}

/// The answer to one open question, as the dialect has it: the second of the four shapes on the way from a line to core's
/// decision. The hook that was queried reads it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box for each frame would cost more than its room")]
pub(crate) enum QueryAnswer {
    Frame(QueryResponse),
    Result(RawJson),
}

impl SessionDialect {
    pub(crate) fn line_decoder(&self, bounds: LineLimits) -> LineDecoder {
        match self {
            Self::Native(_) => LineDecoder::Frames(bounds),
            Self::Hook(_) => LineDecoder::Replies(bounds),
        }
    }

    /// Returns the first message of the host.
    pub(crate) fn opening_message(&self) -> Option<Result<OutboundMessage, String>> {
        match self {
            Self::Native(_) => None,
            Self::Hook(hello) => Some(OutboundMessage::call(HELLO, hello.clone())),
        }
    }

    /// Returns the ids that tell questions apart. A hook's are counted, and hello was the first.
    pub(crate) fn request_ids(&self) -> RequestIdGenerator {
        match self {
            Self::Native(_) => RequestIdGenerator::random(),
            Self::Hook(_) => RequestIdGenerator::counted_from(HELLO + 1),
        }
    }

    /// Returns the missing action of an extension without a hello.
    pub(crate) fn silence_text(&self) -> &'static str {
        match self {
            Self::Native(_) => "sent no hello",
            Self::Hook(_) => "did not answer hook.hello",
        }
    }

    /// True if every line may be as long as the longest: a hook repeats what it was asked about.
    pub(crate) fn has_long_lines(&self) -> bool {
        matches!(self, Self::Hook(_))
    }

    /// True if one that does not leave is asked to by a signal, before it is killed.
    pub(crate) fn uses_terminate_signal(&self) -> bool {
        matches!(self, Self::Native(_))
    }

    /// Returns the request to leave, beside the end of its input.
    pub(crate) fn shutdown_message(&self) -> Option<OutboundMessage> {
        match self {
            Self::Native(_) => Some(OutboundMessage::Frame(HostFrame::Shutdown(Shutdown {}))),
            Self::Hook(_) => None,
        }
    }
}

impl OutboundMessage {
    /// A call of a hook, or why it has no form.
    pub(crate) fn call(id: u64, call: impl Into<Call>) -> Result<Self, String> {
        CallLine::request(id, call).encode().map(Self::Call).map_err(no_json_form)
    }

    pub(crate) fn question(id: u64, question: &impl HookQuestion) -> Result<Self, String> {
        CallLine::encode_question(id, question).map(Self::Call).map_err(no_json_form)
    }

    /// Makes a message for a hook, or says why it has no form.
    pub(crate) fn event(call: impl Into<Call>) -> Result<Self, String> {
        CallLine::notification(call).encode().map(Self::Event).map_err(no_json_form)
    }

    /// Returns the kind of their answer, if they are a question at all.
    pub(crate) fn kind(&self) -> Option<QuestionKind> {
        match self {
            Self::Frame(frame) => QuestionKind::from_question(frame),
            Self::Call(_) => Some(QuestionKind::Intercept),
            Self::Event(_) => None,
        }
    }

    /// True if they may be left out when too much waits already. How much was left out is never left out itself.
    pub(crate) fn is_droppable(&self) -> bool {
        match self {
            Self::Frame(frame) => !matches!(frame, HostFrame::EventGap(_)),
            Self::Call(_) => false,
            Self::Event(_) => true,
        }
    }

    /// Their line, newline included, or why they have none.
    pub(crate) fn into_line(self) -> Result<String, String> {
        match self {
            Self::Frame(frame) => codec::encode(&frame).map_err(no_json_form),
            Self::Call(line) | Self::Event(line) => Ok(line),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn no_json_form(error: serde_json::Error) -> String {
    format!("it has no JSON form: {error}")
}

impl From<HostFrame> for OutboundMessage {
    fn from(frame: HostFrame) -> Self {
        Self::Frame(frame)
    }
}
