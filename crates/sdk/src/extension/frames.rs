//! What an extension says first: hello, its registrations, ready.

use std::collections::BTreeSet;

use haft_protocol::ext::{ExtensionFrame, Hello, InterceptKind, Ready, Subscribe, Subscription, capability};

use super::{Extension, ToolCallHandler, Tools};

impl Extension {
    /// The frames of the start, in order, that are sent at once, without waiting for the host's greeting.
    pub(crate) fn opening(&self) -> Vec<ExtensionFrame> {
        let mut frames = vec![self.hello().into()];
        frames.extend(self.commands.iter().map(|(command, _)| command.clone().into()));
        frames.extend(self.tools.iter().map(|(tool, _)| tool.clone().into()));
        if !self.is_narrow() {
            frames.extend(self.subscriptions(false));
        }
        frames
    }

    /// The end of the start: what it subscribes to, and `ready`. `roles`: the host takes tools and roles; one that does
    /// not is told the names alone, and what it asks or tells too much is passed over here.
    pub(crate) fn subscriptions(&self, roles: bool) -> Vec<ExtensionFrame> {
        let (events, intercept) = if roles { (self.events(), self.asked()) } else { self.plain() };
        let empty = events.is_empty() && intercept.is_empty();
        let subscribe = (!empty).then_some(Subscribe { events, intercept });
        subscribe.map(ExtensionFrame::from).into_iter().chain([Ready {}.into()]).collect()
    }

    /// Whether it has something to subscribe to that not every host can read: then it waits for the greeting.
    pub(crate) fn is_narrow(&self) -> bool {
        let plain = |entry: &Subscription| *entry == Subscription::new(entry.event.as_str());
        !self.events().iter().chain(&self.asked()).all(plain)
    }

    fn hello(&self) -> Hello {
        let has_intercepts = self.intercepts().next().is_some();
        let offered = [
            (!self.commands.is_empty(), capability::COMMANDS),
            (!self.tools.is_empty(), capability::TOOLS),
            (!self.events.is_empty() || has_intercepts, capability::EVENTS),
            (!self.panels.is_empty(), capability::PANELS),
            (!self.panels.is_empty(), capability::PANEL_RESIZE),
            (self.before_agent_start.is_some(), capability::BEFORE_AGENT_START),
            (self.before_compact.is_some(), capability::BEFORE_COMPACT),
            (true, capability::PING),
            (!self.events.is_empty(), capability::EVENT_GAP),
            (true, capability::HOST_SERVICES),
            (self.rejected.is_some(), capability::REGISTER_REJECTED),
        ];
        let capabilities =
            offered.into_iter().filter(|(present, _)| *present).map(|(_, name)| name.to_owned());
        Hello {
            name: self.name.clone(),
            version: self.version.clone(),
            capabilities: capabilities.collect(),
            protocol_version: None,
        }
    }

    fn events(&self) -> Vec<Subscription> {
        let names: BTreeSet<&str> = self.events.iter().map(|(event, ..)| event.as_str()).collect();
        names.into_iter().map(|name| Subscription::new(name).tools(self.watched(name))).collect()
    }

    /// The tools that an event is watched for; none when one handler wants them all.
    fn watched(&self, event: &str) -> BTreeSet<&str> {
        let tools = || self.events.iter().filter(|(name, ..)| name == event).map(|(_, tools, _)| tools);
        match tools().any(Tools::is_all) {
            true => BTreeSet::new(),
            false => tools().flat_map(Tools::names).map(String::as_str).collect(),
        }
    }

    fn asked(&self) -> Vec<Subscription> {
        let others = self.intercepts().filter(|kind| *kind != InterceptKind::ToolCall);
        let tool_calls = self.tool_calls.iter().map(ToolCallHandler::subscription);
        tool_calls.chain(others.map(|kind| kind.name().into())).collect()
    }

    fn plain(&self) -> (Vec<Subscription>, Vec<Subscription>) {
        let events = self.events().into_iter().map(|entry| Subscription::new(entry.event));
        let intercept = self.intercepts().map(|kind| Subscription::new(kind.name()));
        (events.collect(), intercept.collect())
    }
}
