//! Differences between the dialects of extensions: which side sends hello first, the encoding of messages,
//! and the shutdown message. All other behavior of a session is the same for all dialects.

use haft_adapter_picoclaw::wire::{Call, CallLine, HookHello, HookQuestion};
use haft_protocol::RawJson;
use haft_protocol::codec::{self, LineLimits};
use haft_protocol::ext::{HostFrame, QueryResponse, Shutdown};

use super::hello_ack::PreparedHelloAck;
use super::ids::RequestIdGenerator;
use super::pending::QuestionKind;
use crate::wire::decode::LineDecoder;

/// The number of the first call of a hook.
pub(crate) const HELLO: u64 = 1;

/// The dialect of one connection and its first message.
#[derive(Debug, Clone)]
pub(crate) enum SessionDialect {
    /// The native dialect: the extension sends hello and receives this answer, which is then removed.
    Native(Option<Box<PreparedHelloAck>>),
    /// PicoClaw's dialect: the host sends hello, and the hook only replies.
    Hook(HookHello),
}

/// A message for an extension.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "boxing each frame costs more than the memory it saves")]
pub(crate) enum OutboundMessage {
    Frame(HostFrame),
    /// A call of a hook as an encoded line. The caller encodes it, because it may be as long as the
    /// conversation.
    Call(String),
    /// An event for a hook as an encoded line.
    Event(String),
}

/// The answer to one open query in its dialect: the second of four forms between a line and core's decision.
/// The caller of the hook parses it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "boxing each frame costs more than the memory it saves")]
pub(crate) enum QueryAnswer {
    Frame(QueryResponse),
    Result(RawJson),
}

impl SessionDialect {
    pub(crate) fn line_decoder(&self, bounds: LineLimits, has_tools_2: bool) -> LineDecoder {
        match self {
            Self::Native(_) => LineDecoder::Frames { bounds, has_tools_2 },
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

    /// Returns the generator of query ids. Ids of a hook are consecutive numbers, and hello has the first.
    pub(crate) fn request_ids(&self) -> RequestIdGenerator {
        match self {
            Self::Native(_) => RequestIdGenerator::with_random_prefix(),
            Self::Hook(_) => RequestIdGenerator::counted_from(HELLO + 1),
        }
    }

    /// Returns the text about a missing hello.
    pub(crate) fn silence_text(&self) -> &'static str {
        match self {
            Self::Native(_) => "sent no hello",
            Self::Hook(_) => "did not answer hook.hello",
        }
    }

    /// True if every line may have the maximum length, because a hook repeats its input.
    pub(crate) fn has_long_lines(&self) -> bool {
        matches!(self, Self::Hook(_))
    }

    /// True if a process that does not leave receives a terminate signal before the kill.
    pub(crate) fn uses_terminate_signal(&self) -> bool {
        matches!(self, Self::Native(_))
    }

    /// Returns the shutdown message, which precedes the end of the input.
    pub(crate) fn shutdown_message(&self) -> Option<OutboundMessage> {
        match self {
            Self::Native(_) => Some(OutboundMessage::Frame(HostFrame::Shutdown(Shutdown {}))),
            Self::Hook(_) => None,
        }
    }
}

impl OutboundMessage {
    /// Encodes a call of a hook, or returns the reason why it cannot be encoded.
    pub(crate) fn call(id: u64, call: impl Into<Call>) -> Result<Self, String> {
        CallLine::request(id, call).encode().map(Self::Call).map_err(no_json_form)
    }

    pub(crate) fn question(id: u64, question: &impl HookQuestion) -> Result<Self, String> {
        CallLine::encode_question(id, question).map(Self::Call).map_err(no_json_form)
    }

    /// Returns the kind of the answer if the message is a query.
    pub(crate) fn kind(&self) -> Option<QuestionKind> {
        match self {
            Self::Frame(frame) => QuestionKind::from_question(frame),
            Self::Call(_) => Some(QuestionKind::Intercept),
            Self::Event(_) => None,
        }
    }

    /// True if the message may be dropped when the queue is full. The count of dropped events and
    /// cancellations are never dropped.
    pub(crate) fn is_droppable(&self) -> bool {
        match self {
            Self::Frame(frame) => {
                !matches!(frame, HostFrame::EventGap(_) | HostFrame::Cancel(_) | HostFrame::ToolCancel(_))
            }
            Self::Call(_) => false,
            Self::Event(_) => true,
        }
    }

    /// Returns the encoded line with its newline, or the reason why it cannot be encoded.
    pub(crate) fn into_line(self) -> Result<String, String> {
        match self {
            Self::Frame(frame) => codec::encode(&frame).map_err(no_json_form),
            Self::Call(line) | Self::Event(line) => Ok(line),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn no_json_form(error: serde_json::Error) -> String {
    format!("the message cannot be encoded as JSON: {error}")
}

impl From<HostFrame> for OutboundMessage {
    fn from(frame: HostFrame) -> Self {
        Self::Frame(frame)
    }
}
