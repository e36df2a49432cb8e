//! The queues of messages that wait for a run: steering messages, follow-ups and messages for the next prompt. They are
//! messages of the user, or custom messages of extensions.
//!
//! One lock guards all queues and the current run. A message that arrives at the end of a run is taken by that run or
//! kept for the next one, and its sender learns which.

use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, attached_file};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::QueueData;

use crate::emitter::{EventEmitter, RunToken};
use crate::hooks::{AttachedFile, UserInput};
use crate::session::entry::CustomMessage;
use crate::session::{EntryId, SessionError};

/// The capacity of one queue.
const ROOM: usize = 64;

/// A user message: text, images, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// The blocks in order.
    pub content: Vec<ContentBlock>,
    /// The origin of a custom message of an extension; `None` for a message of the user.
    pub custom: Option<Box<CustomOrigin>>,
}

/// The fields of a [`CustomMessage`] besides its content.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CustomOrigin {
    /// The extension.
    pub owner: String,
    /// The kind, defined by the extension.
    pub kind: String,
    /// True if the user also sees the message.
    pub display: bool,
    /// Data of the extension that the model does not see.
    pub details: Option<RawJson>,
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { content: vec![ContentBlock::text(text)], custom: None }
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Prompt {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Vec<ContentBlock>> for Prompt {
    /// Creates a prompt with text and images.
    fn from(content: Vec<ContentBlock>) -> Self {
        Self { content, custom: None }
    }
}

impl From<CustomMessage> for Prompt {
    fn from(CustomMessage { owner, kind, content, display, details }: CustomMessage) -> Self {
        Self { content, custom: Some(Box::new(CustomOrigin { owner, kind, display, details })) }
    }
}

impl From<UserInput> for Prompt {
    fn from(UserInput { text, images, attached, .. }: UserInput) -> Self {
        let text = (!text.is_empty()).then(|| ContentBlock::text(text));
        let attached = attached.iter().map(|AttachedFile { name, text }| attached_file(name, text));
        let images = images.into_iter().map(ContentBlock::Image);
        let content = text.into_iter().chain(attached).chain(images).collect();
        Self { content, custom: None }
    }
}

/// The queue of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum QueueKind {
    /// Taken after the current tool calls, before the next request, or at once if no tool was called.
    Steering,
    FollowUp,
    /// Taken before the next prompt; does not start a run.
    NextTurn,
}

/// A message taken from a queue, with the queue that it came from.
pub(crate) struct DequeuedPrompt {
    pub(crate) queue: QueueKind,
    pub(crate) prompt: Prompt,
}

/// The delivery of a queued message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a message queued without an active run waits for the next run"]
pub enum QueueDelivery {
    /// The active run takes the message. If the run fails, is aborted or is interrupted first, the message stays in the
    /// queue.
    Running,
    /// No run is active. The next run takes the message; [`Agent::resume`](crate::Agent::resume) starts one.
    Idle,
}

/// The reasons why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue is full.
    #[error("the queue is full ({limit} messages); wait for the agent or remove a message")]
    Full {
        /// The capacity of the queue.
        limit: usize,
    },
    /// The message has no content.
    #[error("the message is empty; add text or an image")]
    Empty,
    /// The run has ended, or another run is active. Only returned by a [`RunHandle`](crate::RunHandle).
    #[error("the run has ended; start a new run with a prompt")]
    NotUnderWay,
}

/// The queued messages, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedMessages {
    /// Steering messages.
    pub steering: Vec<Prompt>,
    /// Follow-ups.
    pub follow_up: Vec<Prompt>,
    /// Messages for the next prompt.
    pub next_turn: Vec<Prompt>,
}

impl QueuedMessages {
    /// True if no message is queued.
    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty() && self.next_turn.is_empty()
    }

    /// Returns the messages of the user, without custom messages of extensions.
    pub fn user_messages(&self) -> Self {
        self.clone().take_prompts()
    }

    fn take_prompts(&mut self) -> Self {
        let take = |queue: &mut Vec<Prompt>| queue.extract_if(.., |prompt| prompt.custom.is_none()).collect();
        Self {
            steering: take(&mut self.steering),
            follow_up: take(&mut self.follow_up),
            next_turn: take(&mut self.next_turn),
        }
    }
}

/// The delivery of a message that does not wait if it need not.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a message queued without an active run waits for the next run"]
pub enum MessageDelivery {
    /// No run was active: the message is in the session.
    Added {
        /// The entry of the session.
        entry: EntryId,
        /// The event about the message. Observers have it; the owners of runs do not.
        event: Box<AgentEvent>,
    },
    /// The message waits in the queue of steering messages.
    Queued(QueueDelivery),
}

/// The reasons why a message was not added.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AddMessageError {
    /// The message was not queued.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The message was not written to the session.
    #[error(transparent)]
    Session(SessionError),
}

/// The outcome of a message that is added at once if no run is active.
pub(crate) enum AddOutcome<T> {
    Added(T),
    Queued(QueueDelivery),
}

impl From<&QueuedMessages> for QueueData {
    fn from(QueuedMessages { steering, follow_up, next_turn }: &QueuedMessages) -> Self {
        let texts = |prompts: &[Prompt]| prompts.iter().map(Prompt::summary).collect();
        Self { steering: texts(steering), follow_up: texts(follow_up), next_turn: texts(next_turn) }
    }
}

#[derive(Default)]
pub(crate) struct MessageQueues {
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    waiting: QueuedMessages,
    /// The event emitter of the active run. At most one run is active.
    run: Option<EventEmitter>,
    /// True if the active run takes queued messages.
    takes: bool,
    /// The pending interruption of the active run, with the user's message for the model, if there is one.
    interrupt: Option<Option<Prompt>>,
    announcing: QueueUpdateState,
}

/// The state of the report about queued messages. Observers are not called under the lock, because they may queue
/// messages. Only one caller reports at a time, so that the last report is current.
#[derive(Default, PartialEq, Eq)]
enum QueueUpdateState {
    #[default]
    Idle,
    Sending,
    /// The report that is being sent is out of date.
    Stale,
}

impl MessageQueues {
    pub(crate) fn push(&self, queue: QueueKind, prompt: Prompt) -> Result<QueueDelivery, QueueError> {
        self.push_if(queue, prompt, |_| true)
    }

    /// Queues a message for this run, if the run is active or starts next.
    pub(crate) fn push_for(
        &self,
        run: &RunToken,
        queue: QueueKind,
        prompt: Prompt,
    ) -> Result<(), QueueError> {
        let takes = |state: &QueueState| state.is_run(run) || (state.run.is_none() && !run.is_begun());
        self.push_if(queue, prompt, takes).map(|_| ())
    }

    /// Carries out `add` while no run can start, or queues the message for the run that is active.
    pub(crate) fn add_or_push<T>(
        &self,
        prompt: Prompt,
        add: impl FnOnce() -> T,
    ) -> Result<AddOutcome<T>, QueueError> {
        let mut added = None;
        let queued = self.push_if(QueueKind::Steering, prompt, |state| {
            if state.run.is_none() {
                added = Some(add());
            }
            added.is_none()
        });
        added.map_or_else(|| queued.map(AddOutcome::Queued), |added| Ok(AddOutcome::Added(added)))
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

    /// Removes and returns the messages of the user.
    pub(crate) fn clear(&self) -> QueuedMessages {
        let taken = self.lock().waiting.take_prompts();
        if !taken.is_empty() {
            self.emit_queue_update();
        }
        taken
    }

    /// Starts a run; returns `false` if another run is active. `takes`: the run takes queued messages.
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

    /// Takes the messages queued before the run, in the order of the transcript. A run without a prompt takes a
    /// follow-up if no other message is queued.
    pub(crate) fn take_first(&self, has_prompt: bool) -> Vec<DequeuedPrompt> {
        let mut state = self.lock();
        let mut taken = state.take_all(QueueKind::NextTurn);
        taken.extend(state.take_all(QueueKind::Steering));
        if taken.is_empty() && !has_prompt {
            taken = state.take_one(QueueKind::FollowUp);
        }
        taken
    }

    /// Takes the messages for the next request.
    pub(crate) fn take_steering(&self) -> Vec<DequeuedPrompt> {
        self.lock().take_one(QueueKind::Steering)
    }

    /// Takes the messages that continue a run that would stop. If there are none and no interruption is pending, the
    /// run ends: it takes no later messages, and the next run can start.
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

    /// True if a run that would stop goes on, because a message or an interruption waits.
    pub(crate) fn continues_run(&self) -> bool {
        let state = self.lock();
        let messages = !state.waiting.steering.is_empty() || !state.waiting.follow_up.is_empty();
        messages || state.interrupt.is_some()
    }

    /// True if no run is active and no message waits that would start or continue one.
    pub(crate) fn is_settled(&self) -> bool {
        let state = self.lock();
        state.run.is_none() && state.waiting.steering.is_empty() && state.waiting.follow_up.is_empty()
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

    /// Interrupts the active run; returns `false` if no run takes messages, or another run is meant.
    pub(crate) fn interrupt(&self, meant: Option<&RunToken>, hint: Prompt) -> bool {
        let hint_bytes = hint.text_bytes();
        let hint = (!hint.is_empty()).then_some(hint);
        let run = {
            let mut state = self.lock();
            let is_meant = state.takes && meant.is_none_or(|meant| state.is_run(meant));
            let Some(run) = state.run.clone().filter(|_| is_meant) else { return false };
            // An empty hint keeps an earlier one.
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

    /// True if a run or a compaction goes on.
    pub(crate) fn has_run(&self) -> bool {
        self.lock().run.is_some()
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

    /// Puts undelivered messages back in front of newer ones.
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
        let QueuedMessages { steering, follow_up, next_turn } = &self.waiting.user_messages();
        AgentEvent::QueueUpdate {
            steering: all(steering),
            follow_up: all(follow_up),
            next_turn: all(next_turn),
        }
    }
}

impl Prompt {
    /// True if the message has no content for a model.
    pub(crate) fn is_empty(&self) -> bool {
        self.content.iter().all(|block| block.as_text().is_some_and(|text| text.trim().is_empty()))
    }

    /// Returns the custom message; `None` for a message of the user.
    pub(crate) fn to_custom(&self) -> Option<CustomMessage> {
        let CustomOrigin { owner, kind, display, details } = self.custom.as_deref()?.clone();
        Some(CustomMessage { owner, kind, content: self.content.clone(), display, details })
    }

    pub(crate) fn text_bytes(&self) -> u64 {
        self.content.iter().filter_map(ContentBlock::as_text).map(|text| text.len() as u64).sum()
    }

    /// Returns the text with a placeholder for each image. Front ends show it for a queued message.
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
