//! An event as a line, and the events that an extension subscribed to.

use std::collections::BTreeSet;

use bytes::Bytes;
use haft_protocol::codec;
use haft_protocol::ext::{Event, HostFrame};

use crate::session::filter::ToolFilter;
use crate::session::offers::{Offers, Topic};

/// Names of events as a set of bits.
pub(super) type EventKinds = u8;

/// An event as a line, encoded once for all extensions.
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

/// The events that one extension subscribed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EventFilter {
    pub(super) kinds: EventKinds,
    tools: ToolFilter,
}

impl EventFilter {
    /// The filter for the subscriptions in these offers.
    pub(crate) fn of(offers: &Offers) -> Self {
        Self::new(&offers.events, offers.watched_tools.clone())
    }

    fn new(events: &BTreeSet<String>, tools: ToolFilter) -> Self {
        Self { kinds: events.iter().map(|name| kind(name)).fold(0, |kinds, kind| kinds | kind), tools }
    }

    /// True if it lets this event through.
    pub(crate) fn wants(&self, event: &EventLine) -> bool {
        self.kinds & event.kind != 0 && event.tool.as_deref().is_none_or(|tool| self.tools.has(tool))
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

    #[test]
    fn names_and_tools_narrow() {
        let events = ["turn_end", "tool_call", "later_event"].map(str::to_owned).into();
        let mut tools = ToolFilter::default();
        tools.add(&["bash".into()]);
        let filter = EventFilter::new(&events, tools);
        let check = |name, tool, expect| {
            assert_eq!(
                filter.wants(&EventLine::new(Topic { name, tool }, None, 0)),
                expect,
                "{name} {tool:?}"
            )
        };
        check("turn_end", None, true);
        check("turn_start", None, false);
        check("tool_call", Some("BASH"), true);
        check("tool_call", Some("read"), false);
    }
}
