//! The queue of extension events for the output.
//!
//! Extensions continue while a reader of events is slow, so the queue is bounded. Beyond its limit, notes and host call
//! events are dropped; [`AgentEvent::EventGap`] reports their number. All other events are kept, because other limits
//! bound them: each extension reports few failures per code and process, and few restarts in a period. Command texts,
//! dropped gates and summaries follow actions of a person or the run, which wait for the output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use tokio::sync::mpsc;

/// The maximum size of waiting droppable events, in bytes.
const MOST: usize = 8 * 1024 * 1024;

/// The size of an event without its texts, in bytes.
const EACH: usize = 256;

/// The sending half; cheap to clone.
#[derive(Clone)]
pub(crate) struct EventQueueSender {
    events: mpsc::UnboundedSender<AgentEvent>,
    waiting: Arc<Mutex<BacklogCounters>>,
}

/// The receiving half.
pub(crate) struct EventQueueReceiver {
    events: mpsc::UnboundedReceiver<AgentEvent>,
    waiting: Arc<Mutex<BacklogCounters>>,
}

/// The size of the waiting droppable events.
#[derive(Debug, Default)]
struct BacklogCounters {
    bytes: usize,
    lost: u64,
}

pub(crate) fn event_queue() -> (EventQueueSender, EventQueueReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::<Mutex<BacklogCounters>>::default();
    (
        EventQueueSender { events: sender, waiting: Arc::clone(&waiting) },
        EventQueueReceiver { events: receiver, waiting },
    )
}

impl EventQueueSender {
    /// Sends an event. Never waits.
    pub(crate) fn send(&self, event: AgentEvent) {
        let mut waiting = lock(&self.waiting);
        let bytes = droppable_size(&event).unwrap_or_default();
        if bytes > 0 && waiting.bytes + bytes > MOST {
            waiting.lost += 1;
            return;
        }
        waiting.bytes += bytes;
        // A closed receiver is not an error.
        if let Some(gap) = waiting.take_gap() {
            drop(self.events.send(gap));
        }
        drop(self.events.send(event));
    }
}

impl EventQueueReceiver {
    pub(crate) async fn recv(&mut self) -> Option<AgentEvent> {
        match self.try_recv() {
            None => self.events.recv().await.inspect(|event| self.release(event)),
            event => event,
        }
    }

    pub(crate) fn try_recv(&mut self) -> Option<AgentEvent> {
        match self.events.try_recv() {
            Ok(event) => {
                self.release(&event);
                Some(event)
            }
            Err(_) => lock(&self.waiting).take_gap(),
        }
    }

    fn release(&self, event: &AgentEvent) {
        lock(&self.waiting).bytes -= droppable_size(event).unwrap_or_default();
    }
}

impl BacklogCounters {
    /// Returns an event with the number of dropped events that were not reported yet.
    fn take_gap(&mut self) -> Option<AgentEvent> {
        let lost = std::mem::take(&mut self.lost);
        (lost > 0).then_some(AgentEvent::EventGap { lost })
    }
}

/// Locks the counters. A panic cannot leave them half changed.
fn lock(waiting: &Mutex<BacklogCounters>) -> MutexGuard<'_, BacklogCounters> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the size of a droppable event; `None` for others.
fn droppable_size(event: &AgentEvent) -> Option<usize> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the listed events are droppable")]
    let texts = match event {
        AgentEvent::ExtNotify { message, .. } => message.len(),
        AgentEvent::ExtClearNotes { .. } => 0,
        AgentEvent::HostCallStart { args, .. } => args.as_str().len(),
        AgentEvent::HostCallEnd { content, details, .. } => {
            let texts = content.iter().map(|block| match block {
                ContentBlock::Text { text } => text.len(),
                ContentBlock::Image(image) => image.data.len(),
            });
            texts.sum::<usize>() + details.as_ref().map_or(0, |details| details.as_str().len())
        }
        AgentEvent::ToolRewritten { args, changed, .. } => {
            args.as_str().len() + changed.iter().map(String::len).sum::<usize>()
        }
        AgentEvent::ToolRewriteConflict { path, .. } => path.len(),
        AgentEvent::ToolBlocked { reason, .. } => reason.len(),
        AgentEvent::ToolProgress { text, details, .. } => {
            text.len() + details.as_ref().map_or(0, |details| details.as_str().len())
        }
        _ => return None,
    };
    Some(EACH + texts)
}

#[cfg(test)]
mod tests {
    use haft_protocol::event::{ExtensionFault, NoteLevel};
    use haft_protocol::ids::ExtensionName;

    use super::*;

    fn note(bytes: usize) -> AgentEvent {
        let (extension, message) = (ExtensionName::new("x"), "x".repeat(bytes - EACH));
        AgentEvent::ExtNotify { extension, level: NoteLevel::Info, message }
    }

    fn fault() -> AgentEvent {
        let (extension, code) = (ExtensionName::new("x"), "exited".to_owned());
        AgentEvent::ExtensionError(ExtensionFault { extension, code, message: "exited".into() })
    }

    #[test]
    fn drops_and_counts_notes_beyond_limit_but_no_errors() {
        let (sender, mut events) = event_queue();
        let half = || note(MOST / 2);
        sender.send(half());
        sender.send(half());
        sender.send(note(EACH));
        sender.send(note(EACH));
        sender.send(fault());
        assert_eq!(events.try_recv(), Some(half()));
        sender.send(half());
        sender.send(note(EACH));
        let gap = |lost| AgentEvent::EventGap { lost };
        for expect in [half(), gap(2), fault(), half(), gap(1)] {
            assert_eq!(events.try_recv(), Some(expect));
        }
        assert_eq!(events.try_recv(), None);
        sender.send(half());
        assert_eq!(events.try_recv(), Some(half()), "there is room again");
    }

    #[tokio::test]
    async fn ends_after_last_sender() {
        let (sender, mut events) = event_queue();
        sender.send(fault());
        drop(sender);
        assert_eq!((events.recv().await, events.recv().await), (Some(fault()), None));
    }
}
