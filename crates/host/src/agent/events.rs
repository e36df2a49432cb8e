//! The events of an agent and of the host, for the extensions that watch them.

use std::sync::Arc;

use haft_core::hooks::Observer;
use haft_protocol::codec;
use haft_protocol::event::{AgentEvent, AgentEventKind};
use haft_protocol::ext::{BusMessage, HostFrame, InterceptSessionStart, LifecycleEvent, SessionEvent};
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::AssistantBlock;
use tokio::time::Instant;

use crate::agent::managed_extension::ManagedExtension;
use crate::extension::mirror::SessionMirror;
use crate::extension::send_queue::event::{EventBatch, OutgoingEvent, SESSION_START};
use crate::extension::send_queue::pump::{EventPump, EventRecipients};
use crate::session::offers::EventTopic;
use crate::supervision::host_context::HostContext;
use crate::wire::fault::FaultCode;

/// All extensions that receive events.
pub(crate) struct EventBroadcaster {
    recipients: Arc<dyn EventRecipients>,
    pump: Arc<EventPump>,
    mirror: Arc<SessionMirror>,
}

impl EventBroadcaster {
    pub(crate) fn new(entries: Vec<Arc<ManagedExtension>>, shared: &HostContext) -> Self {
        let (pump, mirror) = (Arc::clone(&shared.pump), Arc::clone(&shared.mirror));
        Self { recipients: Arc::new(entries), pump, mirror }
    }

    /// Sends an event to the extensions that watch it, each in the form that it reads. Never waits.
    pub(crate) fn broadcast_event(&self, event: &AgentEvent) {
        let name = event.kind().name();
        let tool = tool_name(event);
        let lifecycle = EventTopic::for_lifecycle(name, tool);
        let session = EventTopic { about: extension_of(event), ..EventTopic::for_session(name, tool) };
        let encode_lifecycle = || encode_lifecycle(&to_lifecycle_event(event)?);
        let encode_session = || SessionEvent::encode(event, &self.pump.session()).ok();
        self.pump.publish_event(
            &self.recipients,
            &[
                OutgoingEvent { topic: lifecycle, encode: &encode_lifecycle },
                OutgoingEvent { topic: session, encode: &encode_session },
            ],
        );
    }

    /// Sends the start of a session.
    pub(crate) fn broadcast_session_start(&self, start: &InterceptSessionStart) {
        let InterceptSessionStart { session_id, session_path, .. } = start.clone();
        let event = LifecycleEvent::session_start_of(session_id, session_path);
        let (encode_old, encode_new) =
            (|| encode_lifecycle(&event), || SessionEvent::encode_session_start(start).ok());
        self.pump.publish_event(
            &self.recipients,
            &[
                OutgoingEvent { topic: EventTopic::for_lifecycle(SESSION_START, None), encode: &encode_old },
                OutgoingEvent { topic: EventTopic::for_session(SESSION_START, None), encode: &encode_new },
            ],
        );
    }

    /// Sends a message on the bus to the extensions that subscribed, except its sender.
    pub(crate) fn broadcast_message(&self, message: &BusMessage) {
        let topic =
            EventTopic { about: Some(&message.from), ..EventTopic::for_session(BusMessage::EVENT, None) };
        let encode = || SessionEvent::encode_message(message, &self.pump.session()).ok();
        self.pump.publish_event(&self.recipients, &[OutgoingEvent { topic, encode: &encode }]);
    }

    /// Sends an event that only the lifecycle form has.
    pub(crate) fn broadcast_lifecycle(&self, event: &LifecycleEvent) {
        let topic = EventTopic::for_lifecycle(&event.event, None);
        let encode = || encode_lifecycle(event);
        self.pump.publish_event(&self.recipients, &[OutgoingEvent { topic, encode: &encode }]);
    }
}

/// All extensions of a host that speak another protocol, as one receiver of events, so that they know the turn before
/// they are queried.
pub(crate) struct ForeignBroadcaster {
    pub(crate) entries: Vec<Arc<ManagedExtension>>,
    pub(crate) shared: Arc<HostContext>,
}

impl Observer for ForeignBroadcaster {
    fn observe(&self, event: &AgentEvent) {
        let now = Instant::now().into_std();
        for entry in &self.entries {
            entry.send_event(event, now);
        }
        if matches!(event, AgentEvent::AgentStart) {
            // A run that was dropped sent no end event.
            self.shared.turn_reports.clear_all();
        } else if matches!(event, AgentEvent::Done) {
            for (extension, report, more) in self.shared.turn_reports.take_repeated() {
                let text = format!("{report} ({more} more in this turn)");
                self.shared.reporter(&extension).report_fault(FaultCode::HookError, text);
            }
        }
    }
}

impl EventRecipients for Vec<Arc<ManagedExtension>> {
    fn deliver(&self, batch: &EventBatch) {
        self.iter().for_each(|entry| entry.forward_events(batch));
    }
}

impl Observer for EventBroadcaster {
    fn observe(&self, event: &AgentEvent) {
        if let AgentEvent::Session { id, .. } | AgentEvent::SessionRepaired { id, .. } = event {
            self.pump.set_session(id);
        }
        self.mirror.precede_event(changes_state(event.kind()));
        self.broadcast_event(event);
    }
}

/// True for events that follow a change of what extensions mirror.
fn changes_state(kind: AgentEventKind) -> bool {
    matches!(
        kind,
        AgentEventKind::AgentStart
            | AgentEventKind::TurnStart
            | AgentEventKind::TurnEnd
            | AgentEventKind::QueueUpdate
            | AgentEventKind::ModelChanged
            | AgentEventKind::ThinkingChanged
            | AgentEventKind::CompactionStart
            | AgentEventKind::CompactionEnd
            | AgentEventKind::Done
            | AgentEventKind::Settled
    )
}

/// True if an extension watches the event, or watched it before.
pub(crate) fn is_watched(pump: &EventPump, event: &AgentEvent) -> bool {
    pump.is_watched(EventTopic::for_session(event.kind().name(), None))
}

fn encode_lifecycle(event: &LifecycleEvent) -> Option<String> {
    codec::encode(&HostFrame::from(event.clone())).ok()
}

/// Returns the tool that subscriptions to `tool_call` select by.
fn tool_name(event: &AgentEvent) -> Option<&str> {
    if let AgentEvent::ToolCall { name, .. } = event { Some(name) } else { None }
}

/// Returns the extension whose note or fault this is. Its handler may cause the same event again.
fn extension_of(event: &AgentEvent) -> Option<&ExtensionName> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other events do not follow from an event")]
    match event {
        AgentEvent::ExtNotify { extension, .. }
        | AgentEvent::ExtDisplay { extension, .. }
        | AgentEvent::ExtClearNotes { extension } => Some(extension),
        AgentEvent::ExtensionError(fault) => Some(&fault.extension),
        _ => None,
    }
}

/// Returns the event in the form of zot's protocol; `None` for events that this form does not have.
fn to_lifecycle_event(event: &AgentEvent) -> Option<LifecycleEvent> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "zot's protocol has only these events")]
    match event {
        AgentEvent::TurnStart { step } => Some(LifecycleEvent::turn_start(*step)),
        AgentEvent::ToolCall { id, name, args } => {
            Some(LifecycleEvent::tool_call(id.clone(), name.clone(), args.clone()))
        }
        AgentEvent::AssistantMessage { content, .. } => {
            Some(LifecycleEvent::assistant_message(visible_text(content)))
        }
        AgentEvent::TurnEnd { stop, error } => Some(LifecycleEvent::turn_end(*stop, error.clone())),
        AgentEvent::CompactionStart { reason } => Some(LifecycleEvent::compaction_start(*reason)),
        AgentEvent::CompactionEnd { summary, error, .. } => {
            Some(LifecycleEvent::compaction_end(summary.clone(), error.clone()))
        }
        _ => None,
    }
}

/// Returns the text blocks joined without a separator, as zot's extensions expect.
fn visible_text(content: &[AssistantBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } => Some(text.as_str()),
        AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) => None,
    });
    texts.collect()
}
