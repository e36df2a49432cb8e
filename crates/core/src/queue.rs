//! Messages that wait for their place in the work: said while the agent was busy, or meant for later.
//!
//! All three queues and the question whether a run is there to take from them are behind one lock. So a message that
//! comes while a run ends is either taken by that run or waits for the next one, and its sender is told which.

use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;

use crate::emitter::{EventEmitter, RunToken};

/// The number of messages one queue holds.
const ROOM: usize = 64;

/// A message of the user: text, images, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The blocks in order.
    pub content: Vec<ContentBlock>,
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self { content: vec![ContentBlock::text(text)] }
    }
}

/// Which place a message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum QueueKind {
    /// Behind the tools that run now, before the next call of the model; or at once when no tool was called.
    Steering,
    FollowUp,
    /// Before the next prompt; no run begins because of it.
    NextTurn,
}

/// A message that was taken, and where it waited.
pub(crate) struct DequeuedPrompt {
    pub(crate) queue: QueueKind,
    pub(crate) prompt: Prompt,
}

/// Where a message that was queued will be taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a message queued while no run is under way waits until somebody starts one"]
pub enum QueueDelivery {
    /// The run under way takes it, unless it fails, is aborted or is interrupted first; then it still waits.
    Running,
    /// No run is under way: it waits for the next one, which [`Agent::resume`](crate::Agent::resume) starts.
    Idle,
}

/// A message that was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue is full.
    #[error("the queue is full ({limit} messages); wait for the agent or remove a message")]
    Full {
        /// The number of messages that there is room for.
        limit: usize,
    },
    /// There is nothing in the message.
    #[error("the message is empty; add text or an image")]
    Empty,
    /// The run that it was for is over, or another one is under way. Only of a [`RunHandle`](crate::RunHandle).
    #[error("the run has ended; start a new run with a prompt")]
    NotUnderWay,
}

/// The messages that wait, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueuedMessages {
    /// For the end of the current tools.
    pub steering: Vec<Prompt>,
    /// For the moment when the agent would stop.
    pub follow_up: Vec<Prompt>,
    /// For the next prompt.
    pub next_turn: Vec<Prompt>,
}

impl QueuedMessages {
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty() && self.next_turn.is_empty()
    }
}

#[derive(Default)]
pub(crate) struct MessageQueues {
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    waiting: QueuedMessages,
    /// Where the run under way tells its events. There is one run at a time.
    run: Option<EventEmitter>,
    /// The run under way takes what waits.
    takes: bool,
    /// The run under way is to end soon, and what the model is told then, if the user has said something.
    interrupt: Option<Option<Prompt>>,
    announcing: QueueUpdateState,
}

/// The state of the report about messages that wait. Nobody is told under the lock, since who is told may queue a
/// message; so that the last thing told is how things stand, one tells for all.
#[derive(Default, PartialEq, Eq)]
enum QueueUpdateState {
    #[default]
    Idle,
    Sending,
    /// And what it tells is not how things stand any more.
    Stale,
}

impl MessageQueues {
    pub(crate) fn push(&self, queue: QueueKind, prompt: Prompt) -> Result<QueueDelivery, QueueError> {
        self.push_if(queue, prompt, |_| true)
    }

    /// Queues a message for this run, if it is under way or begins next.
    pub(crate) fn push_for(
        &self,
        run: &RunToken,
        queue: QueueKind,
        prompt: Prompt,
    ) -> Result<(), QueueError> {
        let takes = |state: &QueueState| state.is_run(run) || (state.run.is_none() && !run.is_begun());
        self.push_if(queue, prompt, takes).map(|_| ())
    }

    fn push_if(
        &self,
        queue: QueueKind,
        prompt: Prompt,
        wanted: impl FnOnce(&QueueState) -> bool,
    ) -> Result<QueueDelivery, QueueError> {
        if prompt.is_empty() {
            return Err(QueueError::Empty);
        }
        let queued = {
            let mut state = self.lock();
            if !wanted(&state) {
                return Err(QueueError::NotUnderWay);
            }
            let waiting = state.queue(queue);
            if waiting.len() >= ROOM {
                return Err(QueueError::Full { limit: ROOM });
            }
            waiting.push(prompt);
            if state.run.is_some() && state.takes { QueueDelivery::Running } else { QueueDelivery::Idle }
        };
        self.emit_queue_update();
        Ok(queued)
    }

    pub(crate) fn queued_messages(&self) -> QueuedMessages {
        self.lock().waiting.clone()
    }

    pub(crate) fn clear(&self) -> QueuedMessages {
        let taken = std::mem::take(&mut self.lock().waiting);
        if !taken.is_empty() {
            self.emit_queue_update();
        }
        taken
    }

    /// A run begins, which `takes` what waits or leaves it there; `false` if another one is under way.
    pub(crate) fn open(&self, emitter: EventEmitter, takes: bool) -> bool {
        let mut state = self.lock();
        emitter.run().into_iter().for_each(RunToken::begin);
        let free = state.run.is_none();
        if free {
            state.run = Some(emitter);
            state.takes = takes;
            state.interrupt = None;
        }
        free
    }

    /// Takes the messages from before the run, in the order of the transcript. A run without a prompt of its own also
    /// takes what was to follow, when nothing else waits.
    pub(crate) fn take_first(&self, has_prompt: bool) -> Vec<DequeuedPrompt> {
        let mut state = self.lock();
        let mut taken = state.take_all(QueueKind::NextTurn);
        taken.extend(state.take_all(QueueKind::Steering));
        if taken.is_empty() && !has_prompt {
            taken = state.take_one(QueueKind::FollowUp);
        }
        taken
    }

    /// Takes the messages for the next call of the model.
    pub(crate) fn take_steering(&self) -> Vec<DequeuedPrompt> {
        self.lock().take_one(QueueKind::Steering)
    }

    /// Takes the messages that keep a run going that would stop here. When that is nothing, and nobody has just
    /// interrupted it, the run is over: what is queued from here on is not taken by it, and the next run may begin.
    pub(crate) fn take_or_close(&self) -> Vec<DequeuedPrompt> {
        let mut state = self.lock();
        let mut taken = state.take_one(QueueKind::Steering);
        if taken.is_empty() {
            taken = state.take_one(QueueKind::FollowUp);
        }
        if taken.is_empty() && state.interrupt.is_none() {
            state.run = None;
        }
        taken
    }

    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.lock();
        let none = state.waiting.steering.is_empty() && state.waiting.follow_up.is_empty();
        if none {
            state.run = None;
        }
        none
    }

    pub(crate) fn close(&self) {
        self.lock().run = None;
    }

    /// Has the run under way end soon; `false` if there is none that works on messages, or it is not the one that is meant.
    pub(crate) fn interrupt(&self, meant: Option<&RunToken>, hint: Prompt) -> bool {
        let hint_bytes = hint.text_bytes();
        let hint = (!hint.is_empty()).then_some(hint);
        let run = {
            let mut state = self.lock();
            let is_meant = state.takes && meant.is_none_or(|meant| state.is_run(meant));
            let Some(run) = state.run.clone().filter(|_| is_meant) else { return false };
            // Who says nothing does not take back what was said.
            state.interrupt = Some(hint.or_else(|| state.interrupt.take().flatten()));
            run
        };
        run.emit(AgentEvent::Interrupted { hint_bytes });
        true
    }

    pub(crate) fn has_active_run(&self) -> bool {
        let state = self.lock();
        state.run.is_some() && state.takes
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.lock().interrupt.is_some()
    }

    pub(crate) fn take_interrupt(&self) -> Option<Option<Prompt>> {
        self.lock().interrupt.take()
    }

    pub(crate) fn has_steering_messages(&self) -> bool {
        !self.lock().waiting.steering.is_empty()
    }

    /// Puts back what was taken and did not find its place, before what has come since.
    pub(crate) fn requeue(&self, taken: Vec<DequeuedPrompt>) {
        let mut state = self.lock();
        for DequeuedPrompt { queue, prompt } in taken.into_iter().rev() {
            state.queue(queue).insert(0, prompt);
        }
    }

    pub(crate) fn emit_queue_update(&self) {
        loop {
            let (emitter, event) = {
                let mut state = self.lock();
                let Some(emitter) = state.run.clone() else { return };
                if state.announcing != QueueUpdateState::Idle {
                    state.announcing = QueueUpdateState::Stale;
                    return;
                }
                state.announcing = QueueUpdateState::Sending;
                (emitter, state.event())
            };
            emitter.emit(event);
            let told = std::mem::take(&mut self.lock().announcing);
            if told != QueueUpdateState::Stale {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn is_run(&self, run: &RunToken) -> bool {
        self.run.as_ref().and_then(EventEmitter::run).is_some_and(|now| now.is_same(run))
    }

    fn queue(&mut self, queue: QueueKind) -> &mut Vec<Prompt> {
        match queue {
            QueueKind::Steering => &mut self.waiting.steering,
            QueueKind::FollowUp => &mut self.waiting.follow_up,
            QueueKind::NextTurn => &mut self.waiting.next_turn,
        }
    }

    fn take_one(&mut self, queue: QueueKind) -> Vec<DequeuedPrompt> {
        let waiting = self.queue(queue);
        let first = waiting.len().min(1);
        waiting.drain(..first).map(|prompt| DequeuedPrompt { queue, prompt }).collect()
    }

    fn take_all(&mut self, queue: QueueKind) -> Vec<DequeuedPrompt> {
        self.queue(queue).drain(..).map(|prompt| DequeuedPrompt { queue, prompt }).collect()
    }

    fn event(&self) -> AgentEvent {
        let all = |queue: &[Prompt]| queue.iter().map(Prompt::summary).collect();
        let QueuedMessages { steering, follow_up, next_turn } = &self.waiting;
        AgentEvent::QueueUpdate {
            steering: all(steering),
            follow_up: all(follow_up),
            next_turn: all(next_turn),
        }
    }
}

impl Prompt {
    /// True if a model would be told nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.content.iter().all(|block| block.as_text().is_some_and(|text| text.trim().is_empty()))
    }

    pub(crate) fn text_bytes(&self) -> u64 {
        self.content.iter().filter_map(ContentBlock::as_text).map(|text| text.len() as u64).sum()
    }

    /// Its text, with a word for each image: what front ends show of a message that waits.
    ///
    /// ```
    /// let prompt = haft_core::Prompt::from("Not in src/.");
    /// assert_eq!(prompt.summary(), "Not in src/.");
    /// ```
    pub fn summary(&self) -> String {
        let words = self.content.iter().map(|block| match block {
            ContentBlock::Text { text } => text.as_str(),
            ContentBlock::Image(_) => "[image]",
        });
        words.collect::<Vec<_>>().join("\n")
    }
}
