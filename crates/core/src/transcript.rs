//! The transcript: what stands in the session's log, and a copy of it for requests.
//!
//! A message is in the log before it is in the copy, and in the copy before anybody is told of it. What the log did not
//! take is kept, in order, and offered again before anything new: an answer that was paid for is not lost because the
//! disk was full for a moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{Message, Rfc3339Time, StopCause, TokenUsage, ToolMessage};

use crate::session::entry::{
    Compaction, Custom, EntryBody, ResponseMetadata, Said, SessionSettings, ToolStart,
};
use crate::session::{Durability, EntryId, Session, SessionContext, SessionError, missing_result};
use crate::stats::UsageTally;

/// The messages of an agent, and the session they are kept in.
pub(crate) struct Transcript {
    pub(crate) session: Session,
    state: Mutex<TranscriptState>,
}

struct TranscriptState {
    messages: Arc<Vec<Message>>,
    /// The settings of the log: model, thinking and tools.
    settings: SessionSettings,
    tally: UsageTally,
    /// The messages that the log has not taken yet, oldest first.
    unsaved: VecDeque<Said>,
    /// Results of the last answer's calls that the session's reader made up, since they had none.
    unwritten: Vec<ToolMessage>,
    started: Vec<ToolCallId>,
}

/// A message on its way to the disk. Until this is done it survives the end of the program, but no loss of power.
#[must_use = "what must be on the disk has to be waited for"]
pub(crate) struct PendingSave(Option<BoxFuture<'static, Result<EntryId, SessionError>>>);

impl PendingSave {
    /// Waits until it is on the disk.
    pub(crate) async fn wait_synced(self) -> Result<(), SessionError> {
        match self.0 {
            Some(saved) => saved.await.map(drop),
            None => Ok(()),
        }
    }
}

impl Transcript {
    pub(crate) fn new(session: Session) -> Self {
        let state = Mutex::new(TranscriptState::from_session(&session));
        Self { session, state }
    }

    /// Goes on with what the session says by now: somebody else may have added to it, or gone on from another entry.
    pub(crate) fn reload(&self) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        *state = TranscriptState::from_session(&self.session);
        Ok(())
    }

    /// Leaves an answer that the provider did not end, if it is what the model would be sent last: it stays in the log, on
    /// a branch of its own, and the next answer takes its place. What stands behind it is not left with it: a summary was
    /// paid for, and what an extension told is meant for the model.
    pub(crate) fn rewind_failed_response(&self) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        let branch = self.session.branch();
        let is_told = |body: &EntryBody| {
            use EntryBody::{BranchSummary, Compaction, CustomMessage, Said};
            matches!(body, Said(_) | Compaction(_) | BranchSummary(_) | CustomMessage(_))
        };
        if let Some(last) = branch.iter().rfind(|entry| is_told(&entry.body))
            && let EntryBody::Said(Said { answer: Some(answer), .. }) = &last.body
            && answer.stop == StopCause::Error
        {
            self.session.move_to(last.parent)?;
            *state = TranscriptState::from_session(&self.session);
        }
        Ok(())
    }

    pub(crate) fn messages(&self) -> Arc<Vec<Message>> {
        self.lock().messages.clone()
    }

    pub(crate) fn usage(&self) -> TokenUsage {
        self.lock().tally.usage
    }

    pub(crate) fn tally(&self) -> (UsageTally, Arc<Vec<Message>>) {
        let state = self.lock();
        (state.tally, state.messages.clone())
    }

    /// Returns the settings of the log: model, thinking and tools.
    pub(crate) fn settings(&self) -> SessionSettings {
        self.lock().settings.clone()
    }

    /// Writes what changed of model, thinking and tools.
    pub(crate) fn record_settings(
        &self,
        changes: Vec<EntryBody>,
        settings: SessionSettings,
    ) -> Result<(), SessionError> {
        let mut state = self.lock();
        for change in changes {
            drop(write(&self.session, change, Durability::Soon)?);
        }
        state.settings = settings;
        Ok(())
    }

    /// Adds a message that somebody else still has, should it not be written: what the user said.
    pub(crate) fn add(&self, message: Message) -> Result<PendingSave, SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        state.save(&self.session, &Said { message, answer: None })
    }

    /// Adds a message that nobody else has. When it cannot be written now it is later.
    pub(crate) fn add_or_defer(
        &self,
        message: Message,
        answer: Option<ResponseMetadata>,
    ) -> Result<PendingSave, SessionError> {
        let mut state = self.lock();
        let said = Said { message, answer };
        let saved = state.write_unsaved(&self.session).and_then(|()| state.save(&self.session, &said));
        if saved.is_err() {
            state.unsaved.push_back(said);
        }
        saved
    }

    /// Writes that calls are about to run, in their order, and waits until that is on the disk: one sync for all of them.
    /// Says of each whether it is.
    pub(crate) async fn record_starts(&self, starts: Vec<ToolStart>) -> Vec<Result<(), SessionError>> {
        let (written, synced) = {
            let mut state = self.lock();
            let written: Vec<_> =
                starts.into_iter().map(|start| state.record_start(&self.session, start)).collect();
            (written, self.session.flush())
        };
        let synced = if written.iter().any(Result::is_ok) { synced.await } else { Ok(()) };
        written.into_iter().map(|one| one.and_then(|()| synced.clone())).collect()
    }

    /// Writes what people who read the log want to know and the model is not told.
    pub(crate) fn add_custom(&self, remark: Custom) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        drop(write(&self.session, remark.into(), Durability::Soon)?);
        Ok(())
    }

    /// Goes on from an entry: what stands behind it stays in the log, on a branch of its own. The remark says why, and
    /// that whoever opens the session goes on from there, too.
    pub(crate) fn rewind_to(&self, to: Option<EntryId>, remark: Option<Custom>) -> Result<(), SessionError> {
        let mut state = self.lock();
        let caught_up = state.write_unsaved(&self.session);
        self.session.move_to(to)?;
        *state = TranscriptState::from_session(&self.session);
        caught_up?;
        if let Some(remark) = remark {
            drop(write(&self.session, remark.into(), Durability::Soon)?);
        }
        Ok(())
    }

    /// Writes what could not be written before, and gives every call a result that has none: servers refuse a
    /// transcript in which one is missing.
    pub(crate) fn complete_calls(&self, now: impl Fn() -> Rfc3339Time) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        while let Some(result) = state.unwritten.first().cloned() {
            let said = Said { message: Message::Tool(result), answer: None };
            drop(write(&self.session, said.into(), Durability::Soon)?);
            state.unwritten.remove(0);
        }
        for message in state.missing_results(now) {
            drop(state.save(&self.session, &Said { message, answer: None })?);
        }
        Ok(())
    }

    /// Puts a summary in place of what was said before its first kept entry. What it cost counts from here on.
    pub(crate) fn compact(&self, compaction: Compaction) -> Result<PendingSave, SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        let mut used = state.tally.usage;
        if let Some(answer) = &compaction.answer {
            used += answer.usage;
        }
        let body = Compaction { used: Some(used), ..compaction };
        let saved = write(&self.session, body.into(), Durability::Now)?;
        let SessionContext { messages, unwritten, .. } = self.session.context();
        state.unwritten = unwritten;
        state.messages = Arc::new(messages);
        state.tally = UsageTally::after_compaction(used);
        Ok(saved)
    }

    fn lock(&self) -> MutexGuard<'_, TranscriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TranscriptState {
    fn from_session(session: &Session) -> Self {
        let branch = session.branch();
        let SessionContext { messages, settings, unwritten, .. } = crate::session::build_context(&branch);
        Self {
            tally: UsageTally::from_branch(session, &branch, messages.len()),
            messages: Arc::new(messages),
            settings,
            unsaved: VecDeque::new(),
            unwritten,
            started: Vec::new(),
        }
    }

    fn record_start(&mut self, session: &Session, start: ToolStart) -> Result<(), SessionError> {
        self.write_unsaved(session)?;
        let call_id = start.call_id.clone();
        drop(write(session, start.into(), Durability::Soon)?);
        self.started.push(call_id);
        Ok(())
    }

    /// Writes what could not be written before.
    fn write_unsaved(&mut self, session: &Session) -> Result<(), SessionError> {
        while let Some(said) = self.unsaved.front().cloned() {
            drop(self.save(session, &said)?);
            self.unsaved.pop_front();
        }
        Ok(())
    }

    fn save(&mut self, session: &Session, said: &Said) -> Result<PendingSave, SessionError> {
        let body = EntryBody::from(said.clone());
        let durability = Durability::for_body(&body);
        let saved = write(session, body, durability)?;
        if matches!(said.message, Message::Assistant(_)) {
            self.started.clear();
        }
        Arc::make_mut(&mut self.messages).push(said.message.clone());
        if let Some(answer) = &said.answer {
            self.tally.add_response(answer.usage, self.messages.len());
        }
        Ok(saved)
    }

    /// The results that the last answer's calls lack: as when the session is read, a call's result is the one of its
    /// name, wherever it stands.
    fn missing_results(&self, now: impl Fn() -> Rfc3339Time) -> Vec<Message> {
        let mut answered = Vec::new();
        for message in self.messages.iter().rev() {
            match message {
                Message::Tool(result) => answered.push(&result.call_id),
                Message::User { .. } => return Vec::new(),
                Message::Assistant(last) => {
                    let close = |call: &ToolCall| match answered.iter().position(|id| **id == call.id) {
                        Some(at) => {
                            answered.swap_remove(at);
                            None
                        }
                        None => {
                            let begun = self.started.contains(&call.id);
                            Some(Message::Tool(missing_result(call.clone(), begun, now())))
                        }
                    };
                    return last.tool_calls().filter_map(close).collect();
                }
            }
        }
        Vec::new()
    }
}

/// Writes one entry. That it is written is known at once; whether it is on the disk, later.
fn write(session: &Session, body: EntryBody, durability: Durability) -> Result<PendingSave, SessionError> {
    let mut appended = session.append(body, durability).boxed();
    match appended.as_mut().now_or_never() {
        Some(Ok(_)) => Ok(PendingSave(None)),
        // It is in the log; who waits for the disk is told.
        Some(Err(error @ SessionError::NotSynced(_))) => Ok(PendingSave(Some(ready(Err(error)).boxed()))),
        Some(Err(error)) => Err(error),
        None => Ok(PendingSave(Some(appended))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use haft_protocol::RawJson;
    use haft_protocol::message::{AssistantBlock, AssistantMessage};

    use super::*;

    #[test]
    fn a_result_belongs_to_the_call_of_its_name() {
        let time = || Rfc3339Time("T".into());
        let calls = ["c1", "c2", "c3"].map(|id| ToolCall {
            id: ToolCallId::new(id),
            name: "read".into(),
            args: RawJson::empty_object(),
        });
        let content = calls.iter().cloned().map(AssistantBlock::ToolCall).collect();
        let asks = AssistantMessage { content, time: time(), native: None };
        let transcript = Transcript::new(Session::in_memory(Path::new("/work")));
        drop(transcript.add_or_defer(Message::Assistant(asks), None).unwrap());
        let [_, second, _] = calls;
        drop(transcript.add_or_defer(Message::Tool(missing_result(second, true, time())), None).unwrap());
        transcript.complete_calls(time).unwrap();
        let messages = transcript.messages();
        let mut results: Vec<_> = messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool(result) => Some(result.call_id.as_str()),
                Message::User { .. } | Message::Assistant(_) => None,
            })
            .collect();
        results.sort_unstable();
        assert_eq!(results, ["c1", "c2", "c3"]);
    }
}
