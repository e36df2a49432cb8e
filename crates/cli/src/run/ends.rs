//! `Ends`: where what a session's extensions say goes, and what else its agent needs for that.

use std::sync::Arc;

use haft_core::AgentBuilder;
use haft_core::hooks::Observer;
use haft_host::{EventSink, Frontend};
use haft_protocol::event::AgentEvent;
use haft_rpc::Screen;

use super::frontend::Printed;
use super::queue::{self, Receiver, Sender};

/// What differs between a run that is printed and a session that a program drives.
pub(crate) struct Ends {
    /// Where extensions tell their events.
    pub(crate) events: EventSink,
    /// What extensions show panels on, and who is asked for them.
    pub(crate) frontend: Arc<dyn Frontend>,
    /// What the agent gets last of all.
    pub(crate) joined: Box<dyn FnOnce(AgentBuilder) -> AgentBuilder + Send>,
}

impl Ends {
    /// Of a run that is printed: what extensions say waits in a queue. With `observed`, which of the agent's own events come
    /// among that; none where a run tells them.
    pub(crate) fn printed(observed: Option<fn(&AgentEvent) -> bool>) -> (Self, Receiver) {
        let (sender, events) = queue::queue();
        let (told, heard) = (sender.clone(), sender.clone());
        let ends = Self {
            events: Arc::new(move |event| told.send(event)),
            frontend: Arc::new(Printed::new(sender)),
            joined: Box::new(move |builder| match observed {
                Some(wanted) => builder.observer(Heard { events: heard, wanted }),
                None => builder,
            }),
        };
        (ends, events)
    }

    /// Of a session that a program drives.
    pub(crate) fn screen(screen: &Arc<Screen>) -> Self {
        let joined = Arc::clone(screen);
        Self {
            events: screen.events(),
            frontend: Arc::clone(screen) as Arc<dyn Frontend>,
            joined: Box::new(move |builder| joined.joined(builder)),
        }
    }
}

/// Passes on what the agent tells.
struct Heard {
    events: Sender,
    wanted: fn(&AgentEvent) -> bool,
}

impl Observer for Heard {
    fn observe(&self, event: &AgentEvent) {
        if (self.wanted)(event) {
            self.events.send(event.clone());
        }
    }
}
