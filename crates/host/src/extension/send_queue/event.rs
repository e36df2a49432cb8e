//! An event as a line, encoded once for all extensions.

use bytes::Bytes;
use haft_protocol::codec;
use haft_protocol::ext::{Event, HostFrame};

use crate::session::offers::Topic;

/// Names of events as a set of bits.
pub(super) type EventKinds = u8;

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

/// The bit of an event's name; none for one that this version never sends.
pub(super) fn kind(name: &str) -> EventKinds {
    Event::NAMES.iter().position(|known| *known == name).map_or(0, |at| 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_bit_of_its_own() {
        let all = Event::NAMES.iter().map(|name| kind(name)).fold(0, |kinds, kind| kinds | kind);
        assert_eq!(all.count_ones() as usize, Event::NAMES.len());
        assert_eq!(kind("later_event"), 0);
    }
}
