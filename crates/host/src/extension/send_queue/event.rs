//! Events as lines, encoded in batches, and the events that an extension subscribed to.

use std::collections::BTreeSet;

use bytes::Bytes;
use haft_protocol::event::AgentEventKind;
use haft_protocol::ext::{BusMessage, LifecycleEvent, capability};
use haft_protocol::ids::ExtensionName;

use crate::session::filter::ToolFilter;
use crate::session::offers::{EventFormat, EventTopic, ExtensionOffers};

/// The names and forms of events as a bit set.
pub(super) type EventKinds = u64;

/// The number of the first bit of the session form. The lifecycle form has the bits before it.
const SESSION_BITS: usize = LifecycleEvent::NAMES.len();

/// The number of the bit of messages on the bus.
const BUS_BIT: usize = SESSION_BITS + 1 + AgentEventKind::ALL.len();

const _: () = assert!(BUS_BIT < EventKinds::BITS as usize);

/// The event with a session form that `--json` does not have.
pub(crate) const SESSION_START: &str = "session_start";

/// One form of an event, which is encoded when an extension watches it.
pub(crate) struct OutgoingEvent<'a> {
    pub(crate) topic: EventTopic<'a>,
    /// Returns the line, or `None` for an event that cannot be sent.
    pub(crate) encode: &'a dyn Fn() -> Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct BatchedEvent {
    kind: EventKinds,
    tool: Option<Box<str>>,
    about: Option<ExtensionName>,
    /// True if the event before this one is another form of the same event.
    is_repeated: bool,
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
    /// Adds the line of an event for extensions that accept lines up to this length.
    pub(crate) fn add(&mut self, topic: EventTopic<'_>, line: Option<String>, longest: usize) {
        let line = line.filter(|line| line.len() <= longest).unwrap_or_default();
        self.text.extend_from_slice(line.as_bytes());
        self.events.push(BatchedEvent {
            kind: kind(topic.form, topic.name),
            tool: topic.tool.map(Box::from),
            about: topic.about.cloned(),
            is_repeated: false,
            bytes: line.len(),
        });
    }

    /// Marks the last event as another form of the event before it.
    pub(super) fn mark_repeated(&mut self) {
        if let Some(event) = self.events.last_mut() {
            event.is_repeated = true;
        }
    }

    /// Copies the wanted events of a batch while there are fewer than `max_events`. Returns the number of wanted
    /// events. Two forms of one event count as one.
    pub(crate) fn copy_wanted(
        &mut self,
        batch: &EventBatch,
        filter: &EventFilter,
        max_events: usize,
    ) -> usize {
        let (mut start, mut wanted, mut is_copied) = (0, 0, None);
        for event in &batch.events {
            let line = start..start + event.bytes;
            start = line.end;
            let other_form = is_copied.take().filter(|_| event.is_repeated);
            if !filter.matches(event) {
                continue;
            }
            let is_new = other_form.is_none();
            wanted += usize::from(is_new);
            let has_room = other_form.unwrap_or_else(|| self.len() < max_events);
            if has_room {
                self.text.extend_from_slice(&batch.text.slice(line));
                self.events.push(BatchedEvent { is_repeated: !is_new, ..event.clone() });
            }
            is_copied = Some(has_room);
        }
        wanted
    }

    /// Returns the number of events. Two forms of one event count as one.
    pub(crate) fn len(&self) -> usize {
        self.events.iter().filter(|event| !event.is_repeated).count()
    }

    pub(super) fn lines(&self) -> usize {
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
    /// The extension that receives the events.
    own: Option<ExtensionName>,
}

impl EventFilter {
    /// Returns the filter for the subscriptions in the offers of this extension.
    pub(crate) fn from_offers(own: &ExtensionName, offers: &ExtensionOffers) -> Self {
        let form = match offers.has_capability(capability::EVENTS_2) {
            true => EventFormat::Session,
            false => EventFormat::Lifecycle,
        };
        let mut filter = Self::new(own, &offers.events, &[form], offers.watched_tools.clone());
        filter.kinds &= !(1 << BUS_BIT);
        if offers.has_capability(capability::BUS) && offers.events.contains(BusMessage::EVENT) {
            // The event has the same form for all.
            filter.kinds |= 1 << BUS_BIT;
        }
        filter
    }

    /// Returns the filter for declared subscriptions. The form that the extension reads is not known yet.
    pub(crate) fn from_declaration(own: &ExtensionName, offers: &ExtensionOffers) -> Self {
        let forms = [EventFormat::Lifecycle, EventFormat::Session];
        Self::new(own, &offers.events, &forms, offers.watched_tools.clone())
    }

    fn new(own: &ExtensionName, events: &BTreeSet<String>, forms: &[EventFormat], tools: ToolFilter) -> Self {
        let kinds = forms.iter().flat_map(|form| events.iter().map(|name| kind(*form, name)));
        Self { kinds: kinds.fold(0, |kinds, kind| kinds | kind), tools, own: Some(own.clone()) }
    }

    /// True if the filter lets this event through.
    fn matches(&self, event: &BatchedEvent) -> bool {
        self.kinds & event.kind != 0
            && event.tool.as_deref().is_none_or(|tool| self.tools.contains(tool))
            && (event.about.is_none() || event.about != self.own)
    }
}

/// Returns the bit of an event's name; 0 for a name that this version never sends in this form.
pub(super) fn kind(form: EventFormat, name: &str) -> EventKinds {
    let at = match form {
        EventFormat::Lifecycle => LifecycleEvent::NAMES.iter().position(|known| *known == name),
        EventFormat::Session if name == SESSION_START => Some(SESSION_BITS),
        EventFormat::Session if name == BusMessage::EVENT => Some(BUS_BIT),
        EventFormat::Session => AgentEventKind::from_name(name)
            .filter(|kind| kind.is_for_extensions())
            .map(|kind| SESSION_BITS + 1 + kind as usize),
    };
    at.map_or(0, |at| 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ExtensionName {
        ExtensionName::new("log")
    }

    fn filter(events: &[&str], form: EventFormat, tools: &[&str]) -> EventFilter {
        let mut filter = ToolFilter::default();
        filter.add(&tools.iter().map(|&tool| tool.to_owned()).collect::<Vec<_>>());
        EventFilter::new(&name(), &events.iter().map(|&name| name.to_owned()).collect(), &[form], filter)
    }

    #[test]
    fn every_event_has_its_own_bit_in_each_form() {
        let mut bits = 0;
        let mut add = |form, name: &str| {
            let bit = kind(form, name);
            assert_eq!((bit.count_ones(), bits & bit), (1, 0), "{name}");
            bits |= bit;
        };
        LifecycleEvent::NAMES.iter().for_each(|name| add(EventFormat::Lifecycle, name));
        AgentEventKind::names_for_extensions().for_each(|name| add(EventFormat::Session, name));
        add(EventFormat::Session, SESSION_START);
        add(EventFormat::Session, BusMessage::EVENT);
        assert_eq!(kind(EventFormat::Session, "later_event"), 0);
        assert_eq!(kind(EventFormat::Lifecycle, "tool_end"), 0);
        assert_eq!(kind(EventFormat::Session, "event_gap"), 0);
    }

    #[test]
    fn filters_by_name_form_and_tool() {
        let filter = filter(&["turn_end", "tool_call", "later_event"], EventFormat::Lifecycle, &["bash"]);
        let check = |topic: EventTopic<'_>, expect| {
            let mut batch = BatchBuilder::default();
            batch.add(topic, None, 0);
            assert_eq!(batch.take().runs(&filter).count(), usize::from(expect), "{topic:?}")
        };
        check(EventTopic::for_lifecycle("turn_end", None), true);
        check(EventTopic::for_session("turn_end", None), false);
        check(EventTopic::for_lifecycle("turn_start", None), false);
        check(EventTopic::for_lifecycle("tool_call", Some("BASH")), true);
        check(EventTopic::for_lifecycle("tool_call", Some("read")), false);
    }

    #[test]
    fn extension_does_not_receive_events_about_itself() {
        let filter = filter(&["ext_notify"], EventFormat::Session, &[]);
        for (about, expect) in [("log", 0), ("other", 1)] {
            let (mut batch, about) = (BatchBuilder::default(), ExtensionName::new(about));
            let topic = EventTopic { about: Some(&about), ..EventTopic::for_session("ext_notify", None) };
            batch.add(topic, Some("note\n".to_owned()), 100);
            assert_eq!(batch.take().runs(&filter).count(), expect, "{about}");
        }
    }

    #[test]
    fn messages_on_the_bus_need_the_capability_in_any_form() {
        let message = kind(EventFormat::Session, BusMessage::EVENT);
        for (capabilities, expect) in [
            (vec![], false),
            (vec![capability::EVENTS_2], false),
            (vec![capability::BUS], true),
            (vec![capability::BUS, capability::EVENTS_2], true),
        ] {
            let capabilities = capabilities.into_iter().map(str::to_owned).collect();
            let offers = ExtensionOffers {
                events: [BusMessage::EVENT.to_owned()].into(),
                capabilities,
                ..ExtensionOffers::default()
            };
            assert_eq!(EventFilter::from_offers(&name(), &offers).kinds & message != 0, expect);
        }
    }

    #[test]
    fn both_forms_of_an_event_are_kept_or_dropped_together() {
        let mut batch = BatchBuilder::default();
        for step in ["1", "2"] {
            batch.add(EventTopic::for_lifecycle("turn_start", None), Some(format!("old {step}\n")), 100);
            batch.add(EventTopic::for_session("turn_start", None), Some(format!("new {step}\n")), 100);
            batch.mark_repeated();
        }
        let batch = batch.take();
        let offers =
            ExtensionOffers { events: ["turn_start".to_owned()].into(), ..ExtensionOffers::default() };
        let mut kept = BatchBuilder::default();
        let declared = EventFilter::from_declaration(&name(), &offers);
        assert_eq!((kept.copy_wanted(&batch, &declared, 1), kept.len()), (2, 1));
        let kept = kept.take();
        for (form, expect) in [(EventFormat::Lifecycle, "old 1\n"), (EventFormat::Session, "new 1\n")] {
            let lines: Vec<_> = kept.runs(&filter(&["turn_start"], form, &[])).map(|run| run.text).collect();
            assert_eq!(lines, [expect.as_bytes()]);
        }
    }
}
