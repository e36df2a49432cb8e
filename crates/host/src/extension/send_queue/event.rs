//! An event as a line, encoded once for all extensions.

use bytes::Bytes;
use haft_protocol::codec;
use haft_protocol::ext::{Event, HostFrame};

use super::filter::{EventKinds, kind};
use crate::session::offers::Topic;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct EventLine {
    pub(super) kind: EventKinds,
    /// The tool that is called.
    pub(super) tool: Option<Box<str>>,
    /// None when no extension would take it.
    pub(super) line: Option<Bytes>,
}

impl EventLine {
    /// Encodes an event for extensions that take lines up to this length.
    pub(crate) fn new(topic: Topic<'_>, event: Option<Event>, longest: usize) -> Self {
        let line = event.and_then(|event| codec::encode(&HostFrame::Event(event)).ok());
        let line = line.filter(|line| line.len() <= longest).map(Bytes::from);
        Self { kind: kind(topic.name), tool: topic.tool.map(Box::from), line }
    }
}
