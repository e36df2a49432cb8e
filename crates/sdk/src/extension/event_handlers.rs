//! The handlers of events, and the subscriptions that they need.

use std::collections::BTreeSet;

use haft_protocol::ext::{BusMessage, LifecycleEvent, SessionEvent, Subscription};

use super::tool_call::ToolSelection;
use crate::handler::BoxedHandler;

/// The handlers, in the order of their registration.
#[derive(Debug, Default)]
pub(crate) struct EventHandlers(Vec<(String, ToolSelection, EventHandler)>);

/// A handler of an event, by the form that it reads.
#[derive(Debug)]
pub(crate) enum EventHandler {
    Lifecycle(BoxedHandler<LifecycleEvent, ()>),
    Session(BoxedHandler<SessionEvent, ()>),
}

impl EventHandlers {
    /// Adds a handler for an event of some tools.
    pub(super) fn add_handler(
        &mut self,
        event: impl Into<String>,
        tools: ToolSelection,
        handler: EventHandler,
    ) {
        self.0.push((event.into(), tools, handler));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the handlers for an event of a tool.
    pub(crate) fn find_handlers(&self, event: &str, tool: &str) -> impl Iterator<Item = &EventHandler> {
        let wanted = self.0.iter().filter(move |(name, tools, _)| name == event && tools.matches(tool));
        wanted.map(|(_, _, handler)| handler)
    }

    /// True if a handler wants messages of the bus.
    pub(super) fn reads_bus(&self) -> bool {
        self.0.iter().any(|(name, ..)| name == BusMessage::EVENT)
    }

    /// True if a handler needs the events in the form of `--json`.
    pub(super) fn reads_session_events(&self) -> bool {
        let is_one = |handler: &EventHandler| matches!(handler, EventHandler::Session(_));
        self.0.iter().any(|(name, _, handler)| name != BusMessage::EVENT && is_one(handler))
    }

    pub(super) fn event_subscriptions(&self) -> Vec<Subscription> {
        let names: BTreeSet<&str> = self.0.iter().map(|(event, ..)| event.as_str()).collect();
        names.into_iter().map(|name| Subscription::new(name).tools(self.watched_tools(name))).collect()
    }

    /// Returns the tools whose events are subscribed; empty if a handler wants all tools.
    fn watched_tools(&self, event: &str) -> BTreeSet<&str> {
        let tools = || self.0.iter().filter(|(name, ..)| name == event).map(|(_, tools, _)| tools);
        match tools().any(ToolSelection::is_all) {
            true => BTreeSet::new(),
            false => tools().flat_map(ToolSelection::names).map(String::as_str).collect(),
        }
    }
}
