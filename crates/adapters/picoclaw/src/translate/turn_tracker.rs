//! The current turn as process hooks see it: one prompt of the user, from its message to the end of its work.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::{HookEventPayload, InboundMessage, SessionScope, TurnContext, TurnMeta};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;

use super::turn_events::TurnEventMapper;
use super::{CHANNEL, CHAT};

/// The name of the only agent.
const AGENT: &str = "main";

/// The source of events, in PicoClaw's words.
const SOURCE: &str = "runTurn";

/// The turns that a hook sees, numbered. Receives events before the hook is queried about them.
#[derive(Debug)]
pub struct TurnTracker {
    run: String,
    context: Arc<TurnContext>,
    state: Mutex<HookTurnState>,
}

#[derive(Debug, Default)]
struct HookTurnState {
    session: String,
    number: u64,
    mapper: Option<TurnEventMapper>,
    events: u64,
}

impl TurnTracker {
    /// Creates a tracker. `run` makes the turns of this run unique, and `sender` is the name of the user.
    pub fn new(run: String, sender: String) -> Self {
        // Hooks store data by session, so an unknown session also needs a name.
        let now = Mutex::new(HookTurnState { session: run.clone(), ..HookTurnState::default() });
        Self { run, context: Arc::new(turn_context(sender)), state: now }
    }

    /// Sets the id of the session.
    pub fn set_session(&self, session: String) {
        self.lock_state().session = session;
    }

    /// Returns the place of a query in the current turn.
    pub fn turn_meta(&self, trace_path: &str) -> TurnMeta {
        self.meta_at(&self.lock_state(), trace_path)
    }

    fn meta_at(&self, now: &HookTurnState, trace_path: &str) -> TurnMeta {
        TurnMeta {
            agent_id: AGENT.to_owned(),
            turn_id: format!("{AGENT}-turn-{}-{}", self.run, now.number),
            parent_turn_id: String::new(),
            session_key: now.session.clone(),
            iteration: now.mapper.as_ref().map_or(0, TurnEventMapper::current_iteration),
            trace_path: trace_path.to_owned(),
            source: SOURCE.to_owned(),
        }
    }

    /// Returns the context of every query and event.
    pub fn context(&self) -> Option<Arc<TurnContext>> {
        Some(Arc::clone(&self.context))
    }

    /// Records an event and returns what hooks receive and its place in the turn. The path follows from the
    /// event kind.
    pub fn record_event(
        &self,
        event: &AgentEvent,
        workspace: &str,
        at: Instant,
    ) -> (TurnMeta, Vec<HookEventPayload>) {
        let mut now = self.lock_state();
        if let AgentEvent::Session { id, .. } = event {
            now.session.clone_from(id);
        }
        let mut payloads = Vec::new();
        // A run that was dropped sent no end event.
        let is_another = now.mapper.as_ref().is_some_and(|story| story.belongs_to_next_turn(event));
        if (now.mapper.is_none() || is_another) && TurnEventMapper::starts_turn(event) {
            now.number += 1;
            let (story, start) = TurnEventMapper::new(event, workspace, at);
            now.mapper = Some(story);
            payloads.push(start);
        }
        payloads.extend(match &mut now.mapper {
            Some(story) => story.map_event(event, at),
            None => TurnEventMapper::map_between_turns(event),
        });
        let meta = self.meta_at(&now, "");
        if matches!(event, AgentEvent::Done) {
            now.mapper = None;
        }
        (meta, payloads)
    }

    /// Returns the duration of a finished tool call whose result is not known yet.
    pub fn call_duration(&self, id: &ToolCallId) -> Option<Duration> {
        self.lock_state().mapper.as_ref()?.call_duration(id)
    }

    /// Returns the number of the next event.
    pub fn next_event_number(&self) -> u64 {
        let mut now = self.lock_state();
        now.events += 1;
        now.events
    }

    fn lock_state(&self) -> MutexGuard<'_, HookTurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the context of a user at this machine.
fn turn_context(sender_id: String) -> TurnContext {
    let inbound = InboundMessage {
        channel: CHANNEL.to_owned(),
        chat_id: CHAT.to_owned(),
        chat_type: CHAT.to_owned(),
        sender_id,
        ..InboundMessage::default()
    };
    let scope = SessionScope {
        version: 1,
        agent_id: AGENT.to_owned(),
        channel: CHANNEL.to_owned(),
        account: String::new(),
        dimensions: Vec::new(),
        values: BTreeMap::new(),
    };
    TurnContext { inbound: Some(inbound), route: None, scope: Some(scope) }
}
