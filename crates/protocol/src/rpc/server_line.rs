//! `ServerLine`: a line that a client reads.

use super::{EventLine, RpcResponse};
use crate::tagged::TypeField;

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
    /// Decodes a line of a server, for a client. Also reads the lines of `haft --json`.
    ///
    /// ```
    /// use haft_protocol::event::AgentEvent;
    /// use haft_protocol::rpc::{ClientEvent, ServerLine};
    ///
    /// let line = ServerLine::decode(r#"{"type":"text_delta","delta":"Hi","session":"0199"}"#)?;
    /// let ServerLine::Event(event) = line else { panic!("a reply") };
    /// assert_eq!(event.event, ClientEvent::Agent(AgentEvent::TextDelta { delta: "Hi".into() }));
    /// assert_eq!(event.session.as_deref(), Some("0199"));
    ///
    /// let later = ServerLine::decode(r#"{"type":"event_of_a_later_version"}"#)?;
    /// assert!(matches!(later, ServerLine::Event(event) if matches!(event.event, ClientEvent::Unknown { .. })));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// The mistake, if the line is not a JSON object with a `type`, or a field has another form.
    pub fn decode(line: &str) -> Result<Self, serde_json::Error> {
        match TypeField::read(line)?.as_ref() {
            "response" => serde_json::from_str(line).map(Self::Reply),
            _ => serde_json::from_str(line).map(Self::Event),
        }
    }

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
