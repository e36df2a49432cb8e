//! The answer of the server to one request.

use std::time::Duration;

/// One answer: its blocks, its chunk boundaries and its fault.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) blocks: Vec<AnswerBlock>,
    pub(crate) tokens: TokenCounts,
    pub(crate) stop: Option<&'static str>,
    pub(crate) cut_every: usize,
    pub(crate) pause: Duration,
    pub(crate) fault: Option<AnswerFault>,
}

/// A block of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerBlock {
    /// Text.
    Text(String),
    /// Reasoning, with a part that only the provider can read: a signature or encrypted content.
    Thinking {
        /// The readable part.
        text: String,
        /// The opaque part.
        signature: String,
    },
    /// A tool call.
    Tool {
        /// The provider's id for the call.
        id: String,
        /// The tool.
        name: String,
        /// The text of the arguments as the model wrote it, not necessarily JSON.
        args: String,
    },
}

/// Token counts in the provider's usage report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCounts {
    /// Input that was not cached.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache; only Anthropic reports it.
    pub cache_write: u64,
}

/// The fault of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerFault {
    /// A status instead of an answer. `{key}` in the body is replaced by the key the client sent.
    Status {
        /// The HTTP status.
        status: u16,
        /// The value of `retry-after`.
        retry_after: Option<String>,
        /// The error code in the body.
        code: String,
        /// The message in the body.
        message: String,
    },
    /// An error event after status 200 and the blocks.
    ErrorEvent {
        /// The provider's code.
        code: String,
        /// The provider's message.
        message: String,
    },
    /// A TCP reset after the blocks.
    Reset,
    /// A well-formed HTTP end after the blocks, without the event that ends an answer.
    NoFinalEvent,
    /// No more data after the blocks; the connection stays open.
    Hang,
    /// No answer, not even a status.
    Silent,
    /// An HTML page instead of a stream, as from a captive portal or a wrong path.
    Html,
}

impl Default for Scenario {
    fn default() -> Self {
        Self::new()
    }
}

impl Scenario {
    /// Creates an empty answer, cut every 37 bytes, with a usage of 11 input and 7 output tokens.
    pub fn new() -> Self {
        Self {
            blocks: Vec::new(),
            tokens: TokenCounts { input: 11, output: 7, cache_read: 0, cache_write: 0 },
            stop: None,
            cut_every: 37,
            pause: Duration::ZERO,
            fault: None,
        }
    }

    /// Creates an answer of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().say(text)
    }

    /// Creates a status instead of an answer.
    pub fn status(status: u16, code: &str, message: &str) -> Self {
        Self::new().fault(AnswerFault::Status {
            status,
            retry_after: None,
            code: code.to_owned(),
            message: message.to_owned(),
        })
    }

    /// Creates a 429 with a `retry-after` header.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::new().fault(AnswerFault::Status {
            status: 429,
            retry_after: Some(retry_after.to_owned()),
            code: "rate_limit_error".to_owned(),
            message: "too many requests".to_owned(),
        })
    }

    /// Adds text.
    pub fn say(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(AnswerBlock::Text(text.into()));
        self
    }

    /// Adds reasoning.
    pub fn think(mut self, text: impl Into<String>, signature: impl Into<String>) -> Self {
        self.blocks.push(AnswerBlock::Thinking { text: text.into(), signature: signature.into() });
        self
    }

    /// Adds a tool call; `args` is sent unchanged.
    pub fn tool(mut self, id: &str, name: &str, args: &str) -> Self {
        self.blocks.push(AnswerBlock::Tool {
            id: id.to_owned(),
            name: name.to_owned(),
            args: args.to_owned(),
        });
        self
    }

    /// Sets the usage.
    pub fn usage(mut self, tokens: TokenCounts) -> Self {
        self.tokens = tokens;
        self
    }

    /// Makes the answer end at the output limit.
    pub fn out_of_tokens(mut self) -> Self {
        self.stop = Some("length");
        self
    }

    /// Sends the body in pieces of this many bytes; 0 sends it at once.
    pub fn cut_every(mut self, bytes: usize) -> Self {
        self.cut_every = bytes;
        self
    }

    /// Waits this long between two pieces.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Adds a fault.
    pub fn fault(mut self, fault: AnswerFault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// True if the answer holds a tool call.
    pub(crate) fn calls_tools(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, AnswerBlock::Tool { .. }))
    }
}
