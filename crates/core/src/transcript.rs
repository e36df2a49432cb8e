//! The transcript: the messages in the session's log, and a copy of them for requests.
//!
//! A message is written to the log before it is added to the copy, and added to the copy before any observer sees it.
//! Entries that could not be written are kept in order and written before any new entry, so that a full disk does not
//! lose an answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{Message, Rfc3339Time, StopCause, TokenUsage, ToolMessage};

use crate::session::entry::{
    Compaction, Custom, CustomMessage, EntryBody, MessageEntry, ResponseMetadata, SessionSettings, ToolStart,
};
use crate::session::{Durability, EntryId, Session, SessionContext, SessionError, missing_result};
use crate::stats::UsageTally;

/// The messages of an agent, and the session that records them.
pub(crate) struct Transcript {
    pub(crate) session: Session,
    state: Mutex<TranscriptState>,
}

struct TranscriptState {
    messages: Arc<Vec<Message>>,
    /// The settings in the log: model, thinking level and tools.
    settings: SessionSettings,
    tally: UsageTally,
    /// The messages that could not be written yet, oldest first.
    unsaved: VecDeque<MessageEntry>,
    /// Placeholder results for the calls of the last answer, which had none.
    unwritten: Vec<ToolMessage>,
    started: Vec<ToolCallId>,
}

/// A message on its way to disk. Until it is synced, it survives the end of the program, but not a power failure.
#[must_use = "the message is durable only after `wait_synced`"]
pub(crate) struct PendingSave {
    entry: EntryId,
    synced: Option<BoxFuture<'static, Result<(), SessionError>>>,
}

impl PendingSave {
    /// Returns the id of the entry that has the message.
    pub(crate) fn entry(&self) -> EntryId {
        self.entry
    }

    /// Waits until the message is on disk.
    pub(crate) async fn wait_synced(self) -> Result<(), SessionError> {
        match self.synced {
            Some(synced) => synced.await,
            None => Ok(()),
        }
    }
}

impl Transcript {
    pub(crate) fn new(session: Session) -> Self {
        let state = Mutex::new(TranscriptState::from_session(&session));
        Self { session, state }
    }

    /// Reloads the session after other code has appended to it or moved it.
    pub(crate) fn reload(&self) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        *state = TranscriptState::from_session(&self.session);
        Ok(())
    }

    /// Abandons the last answer if the provider did not complete it. The answer stays in the log on its own branch, and
    /// the next answer replaces it. Entries after it are kept: a summary cost tokens, and extension messages are meant
    /// for the model.
    pub(crate) fn rewind_failed_response(&self) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        let branch = self.session.branch();
        let is_told = |body: &EntryBody| {
            use EntryBody::{BranchSummary, Compaction, CustomMessage, MessageEntry};
            matches!(body, MessageEntry(_) | Compaction(_) | BranchSummary(_) | CustomMessage(_))
        };
        if let Some(last) = branch.iter().rfind(|entry| is_told(&entry.body))
            && let EntryBody::MessageEntry(MessageEntry { answer: Some(answer), .. }) = &last.body
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

    /// Returns the settings in the log: model, thinking level and tools.
    pub(crate) fn settings(&self) -> SessionSettings {
        self.lock().settings.clone()
    }

    /// Records changes of model, thinking level and tools.
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

    /// Adds a user message. If it cannot be written, the caller keeps it.
    pub(crate) fn add(&self, message: Message) -> Result<PendingSave, SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        state.save(&self.session, &MessageEntry { message, answer: None })
    }

    /// Adds a custom message of an extension. If it cannot be written, the caller keeps it.
    pub(crate) fn add_custom_message(
        &self,
        message: CustomMessage,
        time: Rfc3339Time,
    ) -> Result<PendingSave, SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        let content = message.content.clone();
        let saved = write(&self.session, message.into(), Durability::Soon)?;
        Arc::make_mut(&mut state.messages).push(Message::User { content, time });
        Ok(saved)
    }

    /// Records usage outside of the conversation.
    pub(crate) fn record_usage(&self, record: Custom, usage: TokenUsage) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.tally.usage += usage;
        write(&self.session, record.into(), Durability::Soon).map(drop)
    }

    /// Adds a message that has no other copy. If it cannot be written now, it is written later.
    pub(crate) fn add_or_defer(
        &self,
        message: Message,
        answer: Option<ResponseMetadata>,
    ) -> Result<PendingSave, SessionError> {
        let mut state = self.lock();
        let said = MessageEntry { message, answer };
        let saved = state.write_unsaved(&self.session).and_then(|()| state.save(&self.session, &said));
        if saved.is_err() {
            state.unsaved.push_back(said);
        }
        saved
    }

    /// Records the starts of calls, in order, and waits until they are on disk, with one sync for all of them. Returns
    /// the outcome for each call.
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

    /// Records a note for people who read the log; the model does not see it.
    pub(crate) fn add_custom(&self, remark: Custom) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        drop(write(&self.session, remark.into(), Durability::Soon)?);
        Ok(())
    }

    /// Moves back to an entry. The entries after it stay in the log, on their own branch. The remark records the
    /// reason, and makes later readers of the file continue there too.
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

    /// Writes pending entries and adds a result for every call without one, because servers reject a transcript with a
    /// missing result.
    pub(crate) fn complete_calls(&self, now: impl Fn() -> Rfc3339Time) -> Result<(), SessionError> {
        let mut state = self.lock();
        state.write_unsaved(&self.session)?;
        while let Some(result) = state.unwritten.first().cloned() {
            let said = MessageEntry { message: Message::Tool(result), answer: None };
            drop(write(&self.session, said.into(), Durability::Soon)?);
            state.unwritten.remove(0);
        }
        for message in state.missing_results(now) {
            drop(state.save(&self.session, &MessageEntry { message, answer: None })?);
        }
        Ok(())
    }

    /// Replaces everything before the summary's first kept entry. The cost of the summary counts from here on.
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

    /// Writes pending entries.
    fn write_unsaved(&mut self, session: &Session) -> Result<(), SessionError> {
        while let Some(said) = self.unsaved.front().cloned() {
            drop(self.save(session, &said)?);
            self.unsaved.pop_front();
        }
        Ok(())
    }

    fn save(&mut self, session: &Session, said: &MessageEntry) -> Result<PendingSave, SessionError> {
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

    /// Returns results for the last answer's calls that have none. As in the session's reader, a result belongs to the
    /// call with its id, at any position.
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

/// Writes one entry. The outcome of the write is known at once; the outcome of the sync later.
fn write(session: &Session, body: EntryBody, durability: Durability) -> Result<PendingSave, SessionError> {
    let (entry, synced) = session.append_entry(body, durability)?;
    let mut synced = synced.boxed();
    let synced = match synced.as_mut().now_or_never() {
        Some(Ok(())) => None,
        // The entry is in the log; the caller that waits for the disk receives the error.
        Some(Err(error)) => Some(ready(Err(error)).boxed()),
        None => Some(synced),
    };
    Ok(PendingSave { entry, synced })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use haft_protocol::RawJson;
    use haft_protocol::message::{AssistantBlock, AssistantMessage};

    use super::*;

    #[test]
    fn matches_result_to_call_by_id() {
        let time = || Rfc3339Time("T".into());
        let calls = ["c1", "c2", "c3"].map(|id| ToolCall {
            id: ToolCallId::new(id),
            name: "read".into(),
            args: RawJson::empty_object(),
        });
        let content = calls.iter().cloned().map(AssistantBlock::ToolCall).collect();
        let asks = AssistantMessage::new(content, time());
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
