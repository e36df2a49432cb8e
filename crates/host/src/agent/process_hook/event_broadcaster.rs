//! Sends events to process hooks.

use std::sync::Arc;

use haft_adapter_picoclaw::translate::{TurnTracker, translate_occurrence};
use haft_adapter_picoclaw::wire::{CallLine, HookEventKind, HookEventPayload, TurnEvent, TurnMeta};
use haft_core::hooks::Observer;
use haft_packages::HookSpec;
use haft_protocol::event::AgentEvent;
use tokio::time::Instant;

use crate::agent::hook_context::HookContext;
use crate::agent::managed_extension::ManagedExtension;
use crate::session::dialect::OutboundMessage;
use crate::wire::fault::FaultCode;

/// All hooks of a host as one event receiver, so that the turn is known before any hook is queried.
pub(crate) struct HookEventBroadcaster {
    pub(crate) entries: Vec<Arc<ManagedExtension>>,
    pub(crate) turns: Arc<TurnTracker>,
    pub(crate) workspace: String,
    pub(crate) context: Arc<HookContext>,
}

impl Observer for HookEventBroadcaster {
    fn observe(&self, event: &AgentEvent) {
        let (meta, payloads) = self.turns.record_event(event, &self.workspace, Instant::now().into_std());
        for payload in payloads {
            self.broadcast(&meta, payload);
        }
        if matches!(event, AgentEvent::Done) {
            self.report_repetitions();
        }
    }
}

impl HookEventBroadcaster {
    /// Reports the number of repetitions in this turn for each report that was made once.
    fn report_repetitions(&self) {
        for (hook, report, more) in self.turns.take_repeated_reports() {
            let text = format!("{report} ({more} more in this turn)");
            self.context.reporter(&hook).report_fault(FaultCode::HookError, text);
        }
    }

    /// Sends the event and never waits: events for a hook that does not read are dropped.
    fn broadcast(&self, meta: &TurnMeta, payload: HookEventPayload) {
        let kind = payload.kind();
        let mut listeners = self.entries.iter().filter_map(|entry| listening_hook(entry, kind)).peekable();
        if listeners.peek().is_none() {
            return;
        }
        let occurrence = TurnEvent {
            time: jiff::Timestamp::now().to_string(),
            meta: meta.clone(),
            context: self.turns.context(),
            payload,
        };
        let number = self.turns.next_event_number();
        for (entry, hook) in listeners {
            if let Some(extension) = entry.handle() {
                extension.observe_message(|| {
                    let occurrence = translate_occurrence(hook.tool_names, &occurrence);
                    // An event that this program builds can be encoded.
                    let line = CallLine::encode_event(&occurrence, hook.event_form, number);
                    line.ok().map(OutboundMessage::Event)
                });
            }
        }
    }
}

fn listening_hook(
    entry: &Arc<ManagedExtension>,
    kind: HookEventKind,
) -> Option<(&Arc<ManagedExtension>, &HookSpec)> {
    let hook = entry.spec.as_hook().filter(|hook| hook.watch.observed.includes(kind))?;
    Some((entry, hook))
}
