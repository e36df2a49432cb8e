//! The transcript: what stands in the session's log, and a copy of it for requests.
//!
//! A message is in the log before it is in the copy, and in the copy before anybody is told of it. What the log did not
//! take is kept, in order, and offered again before anything new: an answer that was paid for is not lost because the
//! disk was full for a moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use haft_protocol::content::Content;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantMessage, Message, Time, ToolMessage, Usage};

use crate::session::entry::{Answer, Compaction, Custom, EntryBody, Said, Settings};
use crate::session::{Context, Durability, EntryId, INTERRUPTED, NOT_RUN, Session, SessionError};
use crate::stats::Tally;

/// The messages of an agent, and the session they are kept in.
pub(crate) struct Transcript {
    pub(crate) session: Session,
    state: Mutex<State>,
}

struct State {
    messages: Arc<Vec<Message>>,
    /// What the log says of model, thinking and tools.
    settings: Settings,
    tally: Tally,
    /// What the log has not taken yet, oldest first.
    unsaved: VecDeque<Said>,
    /// Results of the last answer's calls that the session's reader made up, since they had none; they are not in the
    /// log yet.
    made_up: Vec<ToolMessage>,
    /// The calls of the last answer that were begun.
    started: Vec<ToolCallId>,
}

/// What was written, on its way to the disk. Until this is done it survives the end of the program, but no loss of power.
#[must_use = "what must be on the disk has to be waited for"]
pub(crate) struct Saved(Option<BoxFuture<'static, Result<EntryId, SessionError>>>);

impl Saved {
    /// Waits until it is on the disk.
    pub(crate) async fn on_disk(self) -> Result<(), SessionError> {
        match self.0 {
            Some(saved) => saved.await.map(drop),
            None => Ok(()),
        }
    }
}

impl Transcript {
    /// What a session says.
    pub(crate) fn new(session: Session) -> Self {
        let branch = session.branch();
        let Context { messages, settings, closed } = crate::session::context(&branch);
        let state = State {
            made_up: made_up(&messages, &closed),
            tally: Tally::of(&session, &branch, messages.len()),
            messages: Arc::new(messages),
            settings,
            unsaved: VecDeque::new(),
            started: Vec::new(),
        };
        Self { session, state: Mutex::new(state) }
    }

    pub(crate) fn messages(&self) -> Arc<Vec<Message>> {
        self.lock().messages.clone()
    }

    /// Everything used so far.
    pub(crate) fn usage(&self) -> Usage {
        self.lock().tally.usage
    }

    pub(crate) fn tally(&self) -> (Tally, Arc<Vec<Message>>) {
        let state = self.lock();
        (state.tally, state.messages.clone())
    }

    /// What the log says of model, thinking and tools.
    pub(crate) fn settings(&self) -> Settings {
        self.lock().settings.clone()
    }

    /// Writes what changed of model, thinking and tools.
    pub(crate) fn note(&self, changes: Vec<EntryBody>, settings: Settings) -> Result<(), SessionError> {
        let mut state = self.lock();
        for change in changes {
            drop(write(&self.session, change, Durability::Soon)?);
        }
        state.settings = settings;
        Ok(())
    }

    /// Adds a message that somebody else still has, should it not be written: what the user said.
    pub(crate) fn add(&self, message: Message) -> Result<Saved, SessionError> {
        let mut state = self.lock();
        state.catch_up(&self.session)?;
        state.save(&self.session, &Said { message, answer: None })
    }

    /// Adds a message that nobody else has. When it cannot be written now it is later.
    pub(crate) fn keep(&self, message: Message, answer: Option<Answer>) -> Result<Saved, SessionError> {
        let mut state = self.lock();
        let said = Said { message, answer };
        let saved = state.catch_up(&self.session).and_then(|()| state.save(&self.session, &said));
        if saved.is_err() {
            state.unsaved.push_back(said);
        }
        saved
    }

    /// Writes that a call is about to run.
    pub(crate) fn start(&self, start: crate::session::entry::ToolStart) -> Result<Saved, SessionError> {
        let mut state = self.lock();
        state.catch_up(&self.session)?;
        let call_id = start.call_id.clone();
        let saved = write(&self.session, start.into(), Durability::Now)?;
        state.started.push(call_id);
        Ok(saved)
    }

    /// Writes what people who read the log want to know and the model is not told.
    pub(crate) fn remark(&self, remark: Custom) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.catch_up(&self.session)?;
        drop(write(&self.session, remark.into(), Durability::Soon)?);
        Ok(())
    }

    /// Writes what could not be written before, and gives every call a result that has none: servers refuse a
    /// transcript in which one is missing.
    pub(crate) fn settle(&self, now: impl Fn() -> Time) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.catch_up(&self.session)?;
        while let Some(result) = state.made_up.first().cloned() {
            let said = Said { message: Message::Tool(result), answer: None };
            drop(write(&self.session, said.into(), Durability::Soon)?);
            state.made_up.remove(0);
        }
        for message in state.closing(now) {
            drop(state.save(&self.session, &Said { message, answer: None })?);
        }
        Ok(())
    }

    /// Puts a summary in place of what was said before its first kept entry. What it cost counts from here on.
    pub(crate) fn compact(&self, compaction: Compaction) -> Result<Saved, SessionError> {
        let mut state = self.lock();
        state.catch_up(&self.session)?;
        let mut used = state.tally.usage;
        if let Some(answer) = &compaction.answer {
            used += answer.usage;
        }
        let body = Compaction { used: Some(used), ..compaction };
        let saved = write(&self.session, body.into(), Durability::Now)?;
        let Context { messages, closed, .. } = self.session.context();
        state.made_up = made_up(&messages, &closed);
        state.messages = Arc::new(messages);
        state.tally = Tally::compacted(used);
        Ok(saved)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes what could not be written before.
    fn catch_up(&mut self, session: &Session) -> Result<(), SessionError> {
        while let Some(said) = self.unsaved.front().cloned() {
            drop(self.save(session, &said)?);
            self.unsaved.pop_front();
        }
        Ok(())
    }

    fn save(&mut self, session: &Session, said: &Said) -> Result<Saved, SessionError> {
        let body = EntryBody::from(said.clone());
        let durability = Durability::of(&body);
        let saved = write(session, body, durability)?;
        if matches!(said.message, Message::Assistant(_)) {
            self.started.clear();
        }
        Arc::make_mut(&mut self.messages).push(said.message.clone());
        if let Some(answer) = &said.answer {
            self.tally.answered(answer.usage, self.messages.len());
        }
        Ok(saved)
    }

    /// The results that the last answer's calls lack. Results stand in the order of the calls, so what is missing is at
    /// the end.
    fn closing(&self, now: impl Fn() -> Time) -> Vec<Message> {
        let result = |message: &&Message| matches!(message, Message::Tool(_));
        let answered = self.messages.iter().rev().take_while(result).count();
        let last = self.messages.iter().rev().nth(answered);
        let Some(Message::Assistant(last)) = last else { return Vec::new() };
        missing(last, answered, &self.started, now)
    }
}

/// The results that were made up for the last answer's calls. Those of an earlier answer are made up each time the
/// session is read: in the log, their place is taken.
fn made_up(messages: &[Message], closed: &[ToolCallId]) -> Vec<ToolMessage> {
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant(_)));
    let results = messages.iter().skip(last.unwrap_or(messages.len())).filter_map(|message| match message {
        Message::Tool(result) if closed.contains(&result.call_id) => Some(result.clone()),
        Message::Tool(_) | Message::User { .. } | Message::Assistant(_) => None,
    });
    results.collect()
}

fn missing(
    last: &AssistantMessage,
    answered: usize,
    started: &[ToolCallId],
    now: impl Fn() -> Time,
) -> Vec<Message> {
    let close = |call: &haft_protocol::content::ToolCall| {
        let text = if started.contains(&call.id) { INTERRUPTED } else { NOT_RUN };
        Message::Tool(ToolMessage {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: vec![Content::text(text)],
            is_error: true,
            extension: None,
            details: None,
            time: now(),
        })
    };
    last.tool_calls().skip(answered).map(close).collect()
}

/// Writes one entry. That it is written is known at once; whether it is on the disk, later.
fn write(session: &Session, body: EntryBody, durability: Durability) -> Result<Saved, SessionError> {
    let mut appended = session.append(body, durability).boxed();
    match appended.as_mut().now_or_never() {
        Some(Ok(_)) => Ok(Saved(None)),
        // It is in the log; who waits for the disk is told.
        Some(Err(error @ SessionError::NotSynced(_))) => Ok(Saved(Some(ready(Err(error)).boxed()))),
        Some(Err(error)) => Err(error),
        None => Ok(Saved(Some(appended))),
    }
}
