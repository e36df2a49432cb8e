//! `observe` of a hook's configuration: the subscribed events.

use std::collections::BTreeSet;

use super::event::HookEventKind;

/// The events that one hook receives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedEvents(ObservedKinds);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ObservedKinds {
    Everything,
    /// The kinds, and whether the list contains a name of an event that haft never sends.
    These {
        kinds: BTreeSet<HookEventKind>,
        others: bool,
    },
}

impl Default for ObservedKinds {
    fn default() -> Self {
        Self::These { kinds: BTreeSet::new(), others: false }
    }
}

/// An entry of `observe` that is unknown in PicoClaw, too. The text is PicoClaw's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported observe event {name:?}")]
pub struct UnsupportedEvent {
    /// The entry.
    pub name: String,
}

impl ObservedEvents {
    /// Reads the list: names of both schemes; `""`, `"*"` and `"all"` for all events. An empty list
    /// means none.
    ///
    /// # Errors
    /// The first name that is not an event, unless an earlier entry selects all events.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, UnsupportedEvent> {
        let (mut kinds, mut others) = (BTreeSet::new(), false);
        for name in names.iter().map(AsRef::as_ref) {
            match HookEventKind::from_name(name) {
                _ if EVERYTHING.contains(&name) => return Ok(Self(ObservedKinds::Everything)),
                Some(kind) => drop(kinds.insert(kind)),
                None if NEVER_TOLD.contains(&name) => others = true,
                None => return Err(UnsupportedEvent { name: name.to_owned() }),
            }
        }
        Ok(Self(ObservedKinds::These { kinds, others }))
    }

    /// True if the hook receives events of this kind.
    pub fn includes(&self, kind: HookEventKind) -> bool {
        match &self.0 {
            ObservedKinds::Everything => true,
            ObservedKinds::These { kinds, .. } => kinds.contains(&kind),
        }
    }

    /// True if the list was empty: the hook does not observe.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            ObservedKinds::Everything => false,
            ObservedKinds::These { kinds, others } => kinds.is_empty() && !others,
        }
    }
}

const EVERYTHING: &[&str] = &["", "*", "all"];

/// Names that PicoClaw accepts for features that haft does not have: other agents, channels, the
/// message bus, the gateway. Rejecting them would break working configurations.
const NEVER_TOLD: &[&str] = &[
    "agent.message.blocked",
    "agent.message.delivered",
    "agent.message.received",
    "agent.message.reply",
    "agent.message.sent",
    "agent.thread.closed",
    "bus.close.completed",
    "bus.close.drained",
    "bus.close.started",
    "bus.publish.failed",
    "channel.lifecycle.initialized",
    "channel.lifecycle.start_failed",
    "channel.lifecycle.started",
    "channel.lifecycle.stopped",
    "channel.message.outbound_failed",
    "channel.message.outbound_queued",
    "channel.message.outbound_sent",
    "channel.rate_limited",
    "channel.webhook.registered",
    "channel.webhook.unregistered",
    "gateway.ready",
    "gateway.reload.completed",
    "gateway.reload.failed",
    "gateway.reload.started",
    "gateway.shutdown",
    "gateway.start",
    "mcp.server.connected",
    "mcp.server.connecting",
    "mcp.server.failed",
    "mcp.tool.call.end",
    "mcp.tool.call.start",
    "mcp.tool.discovered",
    "message_blocked",
    "message_delivered",
    "message_received",
    "message_reply",
    "message_sent",
    "thread_closed",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expect: Result<usize, &str>) {
        let observed = ObservedEvents::parse(names).map_err(|error| error.name);
        let count = |observed: &ObservedEvents| {
            HookEventKind::ALL.iter().filter(|kind| observed.includes(**kind)).count()
        };
        assert_eq!(observed.as_ref().map(count).map_err(String::as_str), expect, "{names:?}");
    }

    #[test]
    fn accepts_names_of_both_schemes() {
        check(&[], Ok(0));
        check(&["turn_end"], Ok(1));
        check(&["turn_end", "agent.turn.end"], Ok(1));
        check(&["agent.tool.exec_end", "error", "mcp.tool.call.end", "gateway.ready"], Ok(2));
        for everything in EVERYTHING {
            check(&["turn_end", everything, "nonsense"], Ok(19));
        }
        check(&["nonsense", "*"], Err("nonsense"));
        check(&["Turn_End"], Err("Turn_End"));
        check(&[" "], Err(" "));
    }

    #[test]
    fn unsupported_event_name_still_enables_observe() {
        assert!(ObservedEvents::parse::<&str>(&[]).unwrap().is_empty());
        assert!(!ObservedEvents::parse(&["gateway.ready"]).unwrap().is_empty());
        assert!(!ObservedEvents::parse(&[""]).unwrap().is_empty());
    }
}
