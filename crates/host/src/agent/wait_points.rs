//! Events that the host waits for: the questions of the role `wait`.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use haft_core::hooks::{AgentStart, AgentStartAdditions, BeforeAgentStart, OnWaitPoint, WaitPoint};
use haft_protocol::ext::{
    InterceptAgentEnd, InterceptAgentStart, InterceptHook, InterceptKind, InterceptMessageStart,
    InterceptSessionShutdown, InterceptToolEnd, InterceptTurnEnd, MessageRole, SessionShutdownReason,
};
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::ManagedExtension;
use crate::supervision::host_context::HostContext;

impl ManagedExtension {
    /// Waits until the extension has handled an event, if it is subscribed. A failure is reported and has no
    /// other effect.
    async fn wait_for_handler<H: InterceptHook<Decision = ()>>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) {
        if self.with_view(|now| now.takes_part(H::KIND)) {
            _ = self.query(cancel, question).await;
        }
    }
}

#[async_trait]
impl OnWaitPoint for ManagedExtension {
    async fn on_wait_point(&self, cancel: &CancellationToken, point: &WaitPoint) {
        match point.clone() {
            WaitPoint::AgentStart => self.wait_for_handler(cancel, InterceptAgentStart {}).await,
            WaitPoint::AgentEnd { error } => self.wait_for_handler(cancel, InterceptAgentEnd { error }).await,
            WaitPoint::TurnEnd { stop, error } => {
                self.wait_for_handler(cancel, InterceptTurnEnd { stop, error }).await;
            }
            WaitPoint::UserMessage => {
                let role = MessageRole::User;
                self.wait_for_handler(cancel, InterceptMessageStart { role }).await;
            }
            WaitPoint::AssistantStart => {
                let role = MessageRole::Assistant;
                self.wait_for_handler(cancel, InterceptMessageStart { role }).await;
            }
            WaitPoint::ToolEnd { id, name, duration_ms } => {
                let question = InterceptToolEnd { tool_id: id, tool_name: name, duration_ms };
                self.wait_for_handler(cancel, question).await;
            }
            // No extension can subscribe to a point that has no hook.
            _ => {}
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

/// Tells these extensions that their session, or they themselves, end, and waits until they have handled it.
pub(crate) async fn announce_shutdown(entries: &[Arc<ManagedExtension>], reason: SessionShutdownReason) {
    let cancel = CancellationToken::new();
    let question = InterceptSessionShutdown { reason };
    // An extension without a process handles nothing, and none is started for this.
    let running = entries.iter().filter(|entry| entry.is_ready_for(InterceptKind::SessionShutdown));
    join_all(running.map(|entry| entry.wait_for_handler(&cancel, question))).await;
}

/// Delays a prompt until the extensions have handled the start of the session.
pub(crate) struct SessionStartBarrier(pub(crate) Arc<HostContext>);

#[async_trait]
impl BeforeAgentStart for SessionStartBarrier {
    async fn before_agent_start(&self, _: &CancellationToken, _: &AgentStart) -> AgentStartAdditions {
        self.0.session_start.wait_until_settled().await;
        AgentStartAdditions::default()
    }
}
