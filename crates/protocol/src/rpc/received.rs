//! `Line`: what a client reads.

use super::{EventLine, RpcResponse};

/// A line for a client: a reply, or something that happened. A client in the same process is told it as it is; for
/// others, each is a line of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerLine {
    /// The reply to one of its commands.
    Reply(RpcResponse),
    /// Something that happened.
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
    /// The line, newline included.
    ///
    /// # Errors
    /// None for what this crate can build; kept, so that no caller has to assume it.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Reply(reply) => reply.encode(),
            Self::Event(event) => event.encode(),
        }
    }
}
