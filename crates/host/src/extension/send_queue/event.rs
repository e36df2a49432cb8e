//! Events as lines, encoded in batches, and the events that an extension subscribed to.

use std::collections::BTreeSet;

use bytes::Bytes;
use haft_protocol::codec;
use haft_protocol::ext::{HostFrame, LifecycleEvent};

use crate::session::filter::ToolFilter;
use crate::session::offers::{EventTopic, ExtensionOffers};

/// The names of events as a bit set.
pub(super) type EventKinds = u8;

#[derive(Debug, Clone)]
pub(crate) struct BatchedEvent {
    kind: EventKinds,
    tool: Option<Box<str>>,
    /// The length of the event's line in the text of the batch; 0 for an event that no extension would
    /// receive.
    bytes: usize,
}

/// Consecutive events as lines, encoded once for all extensions.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventBatch {
    text: Bytes,
    events: Vec<BatchedEvent>,
}

/// Adjacent lines of a batch.
#[derive(Debug, Clone)]
pub(crate) struct EventRun {
    /// Empty for events that no extension would receive.
    pub(crate) text: Bytes,
    pub(crate) events: usize,
}

/// The events of a batch that is being filled.
#[derive(Debug, Default)]
pub(crate) struct BatchBuilder {
    text: Vec<u8>,
    events: Vec<BatchedEvent>,
}

impl BatchBuilder {
    /// Encodes an event for extensions that accept lines up to this length.
    pub(crate) fn add(&mut self, topic: EventTopic<'_>, event: Option<LifecycleEvent>, longest: usize) {
        let line = event.and_then(|event| codec::encode(&HostFrame::Event(event)).ok());
        let line = line.filter(|line| line.len() <= longest).unwrap_or_default();
        self.text.extend_from_slice(line.as_bytes());
        self.events.push(BatchedEvent {
            kind: kind(topic.name),
            tool: topic.tool.map(Box::from),
            bytes: line.len(),
        });
    }

    /// Copies the wanted events of a batch while there are fewer than `max_events`. Returns the number of wanted
    /// events.
    pub(crate) fn copy_wanted(
        &mut self,
        batch: &EventBatch,
        filter: &EventFilter,
        max_events: usize,
    ) -> usize {
        let (mut start, mut wanted) = (0, 0);
        for event in &batch.events {
            let line = start..start + event.bytes;
            start = line.end;
            if filter.matches(event) {
                wanted += 1;
                if self.events.len() < max_events {
                    self.text.extend_from_slice(&batch.text.slice(line));
                    self.events.push(event.clone());
                }
            }
        }
        wanted
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Takes all events.
    pub(crate) fn take(&mut self) -> EventBatch {
        let Self { text, events } = std::mem::take(self);
        EventBatch { text: text.into(), events }
    }
}

impl EventBatch {
    pub(super) fn runs<'a>(&'a self, filter: &'a EventFilter) -> impl Iterator<Item = EventRun> {
        let class = |event: &BatchedEvent| (filter.matches(event), event.bytes > 0);
        let mut start = 0;
        self.events.chunk_by(move |one, next| class(one) == class(next)).filter_map(move |events| {
            let lines = start..start + events.iter().map(|event| event.bytes).sum::<usize>();
            start = lines.end;
            let is_wanted = filter.matches(events.first()?);
            is_wanted.then(|| EventRun { text: self.text.slice(lines), events: events.len() })
        })
    }
}

/// The events that one extension subscribed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EventFilter {
    pub(super) kinds: EventKinds,
    tools: ToolFilter,
}

impl EventFilter {
    /// Returns the filter for the subscriptions in these offers.
    pub(crate) fn from_offers(offers: &ExtensionOffers) -> Self {
        Self::new(&offers.events, offers.watched_tools.clone())
    }

    fn new(events: &BTreeSet<String>, tools: ToolFilter) -> Self {
        Self { kinds: events.iter().map(|name| kind(name)).fold(0, |kinds, kind| kinds | kind), tools }
    }

    /// True if the filter lets this event through.
    fn matches(&self, event: &BatchedEvent) -> bool {
        self.kinds & event.kind != 0 && event.tool.as_deref().is_none_or(|tool| self.tools.contains(tool))
    }
}

/// Returns the bit of an event's name; 0 for a name that this version never sends.
pub(super) fn kind(name: &str) -> EventKinds {
    LifecycleEvent::NAMES.iter().position(|known| *known == name).map_or(0, |at| 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_its_own_bit() {
        let all = LifecycleEvent::NAMES.iter().map(|name| kind(name)).fold(0, |kinds, kind| kinds | kind);
        assert_eq!(all.count_ones() as usize, LifecycleEvent::NAMES.len());
        assert_eq!(kind("later_event"), 0);
    }

    #[test]
    fn filters_by_name_and_tool() {
        let events = ["turn_end", "tool_call", "later_event"].map(str::to_owned).into();
        let mut tools = ToolFilter::default();
        tools.add(&["bash".into()]);
        let filter = EventFilter::new(&events, tools);
        let check = |name, tool, expect| {
            let mut batch = BatchBuilder::default();
            batch.add(EventTopic { name, tool }, None, 0);
            assert_eq!(batch.take().runs(&filter).count(), usize::from(expect), "{name} {tool:?}")
        };
        check("turn_end", None, true);
        check("turn_start", None, false);
        check("tool_call", Some("BASH"), true);
        check("tool_call", Some("read"), false);
    }
}
