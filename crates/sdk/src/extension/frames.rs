//! What an extension says first: hello, its registrations, ready.

use haft_protocol::ext::{ExtensionFrame, Hello, InterceptKind, Ready, Subscribe, capability};

use super::Extension;

impl Extension {
    /// All frames of the start, in order. They are sent at once, without waiting for the host's greeting.
    pub(crate) fn opening(&self) -> Vec<ExtensionFrame> {
        let mut frames = vec![self.hello().into()];
        frames.extend(self.commands.iter().map(|(command, _)| command.clone().into()));
        frames.extend(self.tools.iter().map(|(tool, _)| tool.clone().into()));
        frames.extend(self.subscribe().map(ExtensionFrame::from));
        frames.push(Ready {}.into());
        frames
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
            (true, capability::PING),
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

    fn subscribe(&self) -> Option<Subscribe> {
        let events: Vec<_> = self.event_names().into_iter().map(str::to_owned).collect();
        let intercept: Vec<_> = self.intercepts().map(InterceptKind::name).map(str::to_owned).collect();
        let empty = events.is_empty() && intercept.is_empty();
        (!empty).then_some(Subscribe { events, intercept })
    }
}
