//! `ServerLine`: a line that a client reads.

use super::{EventLine, RpcResponse};

/// A line for a client: a reply or an event. A client in the same process gets the value itself;
/// other clients get a line of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerLine {
    /// The reply to one of its commands.
    Reply(RpcResponse),
    /// An event.
    Event(EventLine),
}

impl From<RpcResponse> for ServerLine {
    fn from(reply: RpcResponse) -> Self {
        Self::Reply(reply)
    }
}

impl From<EventLine> for ServerLine {
    fn from(event: EventLine) -> Self {
        Self::Event(event)
    }
}

impl ServerLine {
    /// Encodes the line, newline included.
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Reply(reply) => reply.encode(),
            Self::Event(event) => event.encode(),
        }
    }
}
