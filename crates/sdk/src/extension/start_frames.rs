//! The first frames of an extension: its greeting, registrations and subscriptions.

use haft_protocol::ext::{ExtensionFrame, Hello, InterceptKind, Ready, Subscribe, Subscription, capability};

use super::Extension;
use super::tool_call::{ToolCallHandler, ToolCallHandlerKind};

/// The frames with which an extension starts.
pub(crate) struct StartFrames<'a>(pub(super) &'a Extension);

impl StartFrames<'_> {
    /// Returns the frames that are sent at once when the extension starts, without waiting for
    /// `hello_ack`.
    pub(crate) fn opening_frames(&self) -> Vec<ExtensionFrame> {
        let extension = self.0;
        let mut frames = vec![self.hello_frame().into()];
        frames.extend(extension.commands.iter().map(|(command, _)| command.clone().into()));
        frames.extend(extension.tools.iter().map(|(tool, _)| tool.clone().into()));
        if !self.needs_roles() {
            frames.extend(self.subscription_frames(&[]));
        }
        frames
    }

    /// Returns the shortcuts, the subscriptions and `ready` for a host with these capabilities. Hosts that do not
    /// accept tools and roles get only the names, and the dispatcher skips their extra requests and
    /// events.
    pub(crate) fn subscription_frames(&self, host: &[String]) -> Vec<ExtensionFrame> {
        let extension = self.0;
        let has = |capability: &str| host.iter().any(|known| known == capability);
        let (events, mut intercept) = if has(capability::INTERCEPT_ROLES) {
            (extension.events.event_subscriptions(), self.intercept_subscriptions())
        } else {
            self.plain_subscriptions()
        };
        if has(capability::EVENTS_2) {
            intercept.extend(extension.waits.wait_subscriptions());
        }
        let empty = events.is_empty() && intercept.is_empty();
        let shortcuts = extension.shortcuts.registration_frames().filter(|_| has(capability::CALLS));
        let shortcuts = shortcuts.map(|shortcut| shortcut.clone().into());
        let subscribe = (!empty).then_some(Subscribe { replace: false, events, intercept });
        shortcuts.chain(subscribe.map(ExtensionFrame::from)).chain([Ready {}.into()]).collect()
    }

    /// True if the registrations depend on the capabilities of the host; they are then sent after
    /// `hello_ack`.
    pub(crate) fn needs_roles(&self) -> bool {
        let extension = self.0;
        let plain = |entry: &Subscription| *entry == Subscription::new(entry.event.as_str());
        extension.shortcuts.registration_frames().next().is_some()
            || extension.waits.subscribed_kinds().next().is_some()
            || !extension
                .events
                .event_subscriptions()
                .iter()
                .chain(&self.intercept_subscriptions())
                .all(plain)
    }

    fn hello_frame(&self) -> Hello {
        let extension = self.0;
        let has_intercepts = extension.intercept_kinds().next().is_some();
        let has_shortcuts = extension.shortcuts.registration_frames().next().is_some();
        let offered = [
            (!extension.commands.is_empty(), capability::COMMANDS),
            (!extension.tools.is_empty(), capability::TOOLS),
            (!extension.events.is_empty() || has_intercepts, capability::EVENTS),
            (!extension.panels.is_empty(), capability::PANELS),
            (!extension.panels.is_empty(), capability::PANEL_RESIZE),
        ];
        // Hooks without a capability are those of zot.
        let hooks = extension.hooks.subscribed_kinds().map(InterceptKind::name);
        let hooks = hooks.filter(|name| capability::ALL.contains(name)).map(|name| (true, name));
        let others = [
            (true, capability::PING),
            (!extension.events.is_empty(), capability::EVENT_GAP),
            (
                extension.events.reads_session_events()
                    || extension.waits.subscribed_kinds().next().is_some(),
                capability::EVENTS_2,
            ),
            (!extension.mirror.is_empty(), capability::MIRROR),
            (self.may_end_turns(), capability::HOOKS_2),
            (extension.events.reads_bus(), capability::BUS),
            (true, capability::HOST_SERVICES),
            (extension.rejected.is_some(), capability::REGISTER_REJECTED),
            (!extension.tools.is_empty(), capability::TOOLS_2),
            (true, capability::PROGRESS),
            (true, capability::CALLS),
            (
                !extension.tools.is_empty()
                    || !extension.commands.is_empty()
                    || has_shortcuts
                    || has_intercepts,
                capability::CANCEL,
            ),
        ];
        let all = offered.into_iter().chain(hooks).chain(others);
        let capabilities = all.filter(|(present, _)| *present).map(|(_, name)| name.to_owned());
        Hello {
            name: extension.name.clone(),
            version: extension.version.clone(),
            capabilities: capabilities.collect(),
            protocol_version: None,
            mirror: extension.mirror.iter().map(|part| part.name().to_owned()).collect(),
        }
    }

    /// True if a handler may end a turn or answer a call. Gates only allow or block.
    fn may_end_turns(&self) -> bool {
        let extension = self.0;
        let is_gate = |handler: &ToolCallHandler| matches!(handler.kind, ToolCallHandlerKind::Gate(_));
        extension.hooks.tool_result.is_some()
            || extension.hooks.context.is_some()
            || extension.hooks.message_end.is_some()
            || !extension.tool_calls.iter().all(is_gate)
    }

    fn intercept_subscriptions(&self) -> Vec<Subscription> {
        let extension = self.0;
        let others = extension.intercept_kinds().filter(|kind| *kind != InterceptKind::ToolCall);
        let tool_calls = extension.tool_calls.iter().map(ToolCallHandler::to_subscription);
        tool_calls.chain(others.map(|kind| kind.name().into())).collect()
    }

    fn plain_subscriptions(&self) -> (Vec<Subscription>, Vec<Subscription>) {
        let extension = self.0;
        let events =
            extension.events.event_subscriptions().into_iter().map(|entry| Subscription::new(entry.event));
        let intercept = extension.intercept_kinds().map(|kind| Subscription::new(kind.name()));
        (events.collect(), intercept.collect())
    }
}
