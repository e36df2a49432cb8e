//! The handlers of events that the host waits for.

use haft_protocol::ext::{
    InterceptAgentEnd, InterceptAgentStart, InterceptKind, InterceptMessageStart, InterceptRole,
    InterceptSessionShutdown, InterceptSessionStart, InterceptToolEnd, InterceptTurnEnd, Subscription,
};

use crate::handler::BoxedHandler;

/// One handler for each event.
#[derive(Debug, Default)]
pub(crate) struct WaitHandlers {
    pub(crate) session_start: Option<BoxedHandler<InterceptSessionStart, ()>>,
    pub(crate) session_shutdown: Option<BoxedHandler<InterceptSessionShutdown, ()>>,
    pub(crate) agent_start: Option<BoxedHandler<InterceptAgentStart, ()>>,
    pub(crate) agent_end: Option<BoxedHandler<InterceptAgentEnd, ()>>,
    pub(crate) turn_end: Option<BoxedHandler<InterceptTurnEnd, ()>>,
    pub(crate) message_start: Option<BoxedHandler<InterceptMessageStart, ()>>,
    pub(crate) tool_end: Option<BoxedHandler<InterceptToolEnd, ()>>,
}

impl WaitHandlers {
    /// Returns the events with a handler.
    pub(crate) fn subscribed_kinds(&self) -> impl Iterator<Item = InterceptKind> {
        let kinds = [
            (self.session_start.is_some(), InterceptKind::SessionStart),
            (self.session_shutdown.is_some(), InterceptKind::SessionShutdown),
            (self.agent_start.is_some(), InterceptKind::AgentStart),
            (self.agent_end.is_some(), InterceptKind::AgentEnd),
            (self.turn_end.is_some(), InterceptKind::TurnEnd),
            (self.message_start.is_some(), InterceptKind::MessageStart),
            (self.tool_end.is_some(), InterceptKind::ToolEnd),
        ];
        kinds.into_iter().filter_map(|(present, kind)| present.then_some(kind))
    }

    pub(crate) fn wait_subscriptions(&self) -> impl Iterator<Item = Subscription> {
        self.subscribed_kinds().map(|kind| Subscription::new(kind.name()).role(InterceptRole::Wait))
    }
}
