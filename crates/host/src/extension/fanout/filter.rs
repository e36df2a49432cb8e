//! Which events somebody who watches wants.

use std::collections::BTreeSet;

use haft_protocol::ext::{Event, InterceptKind};

use crate::session::filter::ToolFilter;
use crate::session::offers::Offers;

/// Names of events as a set of bits.
pub(super) type Kinds = u8;

/// What one extension subscribed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    kinds: Kinds,
    tools: ToolFilter,
}

impl Filter {
    /// What is subscribed to here.
    pub(crate) fn of(offers: &Offers) -> Self {
        Self::new(&offers.events, offers.watched_tools.clone())
    }

    fn new(events: &BTreeSet<String>, tools: ToolFilter) -> Self {
        Self { kinds: events.iter().map(|name| kind(name)).fold(0, |kinds, kind| kinds | kind), tools }
    }

    pub(super) fn wants(&self, kind: Kinds, tool: Option<&str>) -> bool {
        self.kinds & kind != 0 && tool.is_none_or(|tool| self.tools.has(tool))
    }

    /// Whether it wants all events of these kinds.
    pub(super) fn wants_all(&self, kinds: Kinds) -> bool {
        let calls = kinds & kind(InterceptKind::ToolCall.name()) != 0;
        kinds & !self.kinds == 0 && (!calls || self.tools == ToolFilter::All)
    }
}

/// The bit of an event's name; none for one that this version never sends.
pub(super) fn kind(name: &str) -> Kinds {
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
        let filter = Filter::new(&events, tools);
        let check =
            |name, tool, expect| assert_eq!(filter.wants(kind(name), tool), expect, "{name} {tool:?}");
        check("turn_end", None, true);
        check("turn_start", None, false);
        check("tool_call", Some("BASH"), true);
        check("tool_call", Some("read"), false);
        assert!(filter.wants_all(kind("turn_end")));
        assert!(!filter.wants_all(kind("turn_end") | kind("turn_start")));
        assert!(!filter.wants_all(kind("tool_call")));
        assert!(Filter::new(&events, ToolFilter::All).wants_all(kind("tool_call") | kind("turn_end")));
    }
}
