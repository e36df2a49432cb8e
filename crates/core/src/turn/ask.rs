//! Sends the request to the model and receives its answer, as events and as a whole.

use std::time::Duration;

use futures::StreamExt;
use futures::future::join;
use haft_protocol::event::{AgentEvent, RetryReason};
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, StopCause, TokenUsage, text_of, tool_calls_of,
};

use super::TurnDriver;
use super::request::RequestDraft;
use super::state::{SuppressedDeltas, TurnInput};
use crate::agent_state::AgentState;
use crate::emitter::EventEmitter;
use crate::hooks::{
    AfterModelResponse, AttributedRefusal, BeforeAssistantMessage, ReceivedResponse, Refusal, RefusalScope,
    ResponseDecision, WaitPoint,
};
use crate::model::{ModelError, ModelErrorKind, ModelEvent, ModelId, ModelResponse, stream_response};
use crate::run_context::{NoDecision, PANICKED, RunContext};
use crate::session::SessionError;
use crate::session::entry::ResponseMetadata;
use crate::session::intervention::InterventionAction;
use crate::transcript::PendingSave;

/// The part of an incomplete answer that the user has seen.
#[derive(Default)]
pub(super) struct IncompleteResponse {
    /// The requested model; the agent's model unless a hook selected another.
    asked: Option<ModelId>,
    answering: Option<ModelId>,
    /// True if the start of the answer was reported.
    begun: bool,
    text: String,
}

/// The reasons why there is no answer.
enum RequestFailure {
    Model(ModelError),
    /// The user's message could not be written to disk.
    Session(SessionError),
    /// A hook refused the request.
    NotSent(TurnInput),
}

impl From<ModelError> for RequestFailure {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl TurnDriver {
    pub(super) async fn request_response(&mut self, step: u32, last: bool) -> TurnInput {
        let cancel = self.run.cancel.clone();
        let mut asked = cancel.run_until_cancelled(self.stream_response(step, last)).await;
        if let Some(Err(RequestFailure::Model(error))) = &asked
            && error.kind == ModelErrorKind::Overflow
            && !self.answer.begun
            && !cancel.is_cancelled()
        {
            // Only once: if the compacted request is still too long, compacting again does not help.
            if let Err(input) = self.compact_after_overflow(error.clone()).await {
                return input;
            }
            asked = cancel.run_until_cancelled(self.stream_response(step, last)).await;
        }
        match asked {
            Some(Ok((response, held))) => self.accept_response(step, response, held).await,
            // Any failure of a cancelled request counts as the user's abort.
            Some(Err(_)) if self.run.cancel.is_cancelled() => self.keep_aborted().await,
            Some(Err(RequestFailure::Model(error))) => {
                // The outcome of this save is not the reason for the end of the run. A failed write is retried later.
                if let Ok(Some((_, saved))) = self.keep_partial(StopCause::Error) {
                    let _ = saved.wait_synced().await;
                }
                TurnInput::Failed(error)
            }
            Some(Err(RequestFailure::Session(error))) => error.into(),
            Some(Err(RequestFailure::NotSent(input))) => input,
            None => self.keep_aborted().await,
        }
    }

    /// Returns the whole answer, and the parts that were held back.
    async fn stream_response(
        &mut self,
        step: u32,
        last: bool,
    ) -> Result<(ModelResponse, SuppressedDeltas), RequestFailure> {
        let held = suppressed_deltas(&self.run.agent);
        let draft = RequestDraft::new(&self.run, &self.setup, &self.sections, &self.demand, step, last);
        let sent = draft.apply_hooks(&self.run.agent.current_hooks()).await;
        let (model, request) = sent.map_err(RequestFailure::NotSent)?;
        let info = model.info();
        self.answer = IncompleteResponse { asked: Some(info.clone()), ..IncompleteResponse::default() };
        let mut events = stream_response(model.as_ref(), self.run.cancel.clone(), request).await?;
        // The request is sent while the disk writes the user's message.
        let (mut next, said) = join(events.next(), self.wait_prompts_saved()).await;
        said.map_err(RequestFailure::Session)?;
        while let Some(event) = next {
            let begun = self.answer.begun;
            let taken = self.answer.take(event?, held, &self.run.emitter);
            if self.answer.begun && !begun {
                self.run.wait_at(WaitPoint::AssistantStart).await;
            }
            if let Some(response) = taken {
                return Ok((response, held));
            }
            next = events.next().await;
        }
        let text = format!("the answer from {info} ended without its final event; try again");
        Err(ModelError::new(ModelErrorKind::Truncated, text).into())
    }

    async fn accept_response(
        &mut self,
        step: u32,
        response: ModelResponse,
        held: SuppressedDeltas,
    ) -> TurnInput {
        let mut review = ResponseReview::new(response);
        match review.ask_hooks(&self.run, step, &self.answered_by()).await {
            Ok(()) => {}
            Err(ResponseRejection::Cancelled) => return self.keep_aborted().await,
            Err(ResponseRejection::Refused(refusal)) => {
                return self.set_aside_response(&review.response, refusal).await;
            }
        }
        let ResponseReview { response, edited_by } = review;
        if let Err(error) = self.record_response(&response).await {
            return error.into();
        }
        if !edited_by.is_empty() {
            self.run.record_intervention(None, InterventionAction::AnswerEdited, edited_by);
        }
        self.run.emitter.emit(response_event(&response));
        TurnInput::Answered { response, held }
    }

    /// Records a refused answer in the log, because it cost tokens, but not in the conversation.
    async fn set_aside_response(
        &mut self,
        response: &ModelResponse,
        refusal: AttributedRefusal,
    ) -> TurnInput {
        let before = self.run.agent.transcript.session.leaf();
        if let Err(error) = self.record_response(response).await {
            return error.into();
        }
        if refusal.scope == RefusalScope::DiscardedTurn {
            return TurnInput::Refused(refusal);
        }
        match self.rewind_to(before, InterventionAction::AnswerDropped, &refusal.by) {
            Ok(()) => TurnInput::Refused(refusal),
            Err(error) => error.into(),
        }
    }

    /// Adds a whole answer to the transcript. The last answer of a turn is on disk before it is reported.
    async fn record_response(&mut self, response: &ModelResponse) -> Result<(), SessionError> {
        let by = self.answered_by();
        self.answer = IncompleteResponse::default();
        self.demand.is_answered = true;
        let message = AssistantMessage::new(response.content.clone(), self.run.agent.current_time())
            .with_native(response.native.clone());
        let answer = response_metadata(by, response.stop, response.usage);
        let saved = self.run.agent.transcript.add_or_defer(Message::Assistant(message), Some(answer))?;
        self.recorded = Some(saved.entry());
        saved.wait_synced().await?;
        let cumulative = self.run.agent.transcript.usage();
        self.run.emitter.emit(AgentEvent::Usage { usage: response.usage, cumulative });
        Ok(())
    }

    /// Returns the model that answers: the one that the stream names, or else the requested one.
    fn answered_by(&self) -> ModelId {
        let IncompleteResponse { answering, asked, .. } = &self.answer;
        answering.as_ref().or(asked.as_ref()).cloned().unwrap_or_else(|| self.setup.model.info())
    }

    async fn keep_aborted(&mut self) -> TurnInput {
        let kept = match self.keep_partial(StopCause::Aborted) {
            Ok(None) => return TurnInput::Cancelled,
            Ok(Some((message, saved))) => {
                let entry = saved.entry().to_string();
                saved.wait_synced().await.map(|()| (message, entry))
            }
            Err(error) => Err(error),
        };
        match kept {
            Ok((AssistantMessage { content, time, .. }, entry)) => {
                self.run.emitter.emit(AgentEvent::AssistantMessage { content, time, entry: Some(entry) });
                TurnInput::Cancelled
            }
            Err(error) => error.into(),
        }
    }

    /// Keeps the part of an incomplete answer that the user has seen. Held-back parts, thinking without its signature
    /// and incomplete calls are dropped, because servers reject them.
    pub(super) fn keep_partial(
        &mut self,
        stop: StopCause,
    ) -> Result<Option<(AssistantMessage, PendingSave)>, SessionError> {
        let by = self.answered_by();
        let IncompleteResponse { text, .. } = std::mem::take(&mut self.answer);
        if text.trim().is_empty() {
            return Ok(None);
        }
        let content = vec![AssistantBlock::Text { text }];
        let message = AssistantMessage::new(content, self.run.agent.current_time());
        let answer = response_metadata(by, stop, TokenUsage::default());
        let saved =
            self.run.agent.transcript.add_or_defer(Message::Assistant(message.clone()), Some(answer))?;
        Ok(Some((message, saved)))
    }
}

impl IncompleteResponse {
    /// Handles one event and shows it, unless it is held back; returns the answer when it is complete.
    fn take(
        &mut self,
        event: ModelEvent,
        held: SuppressedDeltas,
        emitter: &EventEmitter,
    ) -> Option<ModelResponse> {
        if event.is_answer() && !std::mem::replace(&mut self.begun, true) {
            emitter.emit(AgentEvent::AssistantStart);
        }
        let shown = match event {
            ModelEvent::Text(_) | ModelEvent::Thinking(_) if held.suppresses_text() => return None,
            ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallArgs { .. }
            | ModelEvent::ToolCallEnd { .. }
                if held.deltas =>
            {
                return None;
            }
            ModelEvent::Text(delta) => {
                self.text.push_str(&delta);
                AgentEvent::TextDelta { delta }
            }
            ModelEvent::Thinking(delta) => AgentEvent::ThinkingDelta { delta },
            ModelEvent::ToolCallStart { id, name } => AgentEvent::ToolUseStart { id, name },
            ModelEvent::ToolCallArgs { id, delta } => AgentEvent::ToolUseArgs { id, delta },
            ModelEvent::ToolCallEnd { id } => AgentEvent::ToolUseEnd { id },
            ModelEvent::Retry { attempt, delay, message, max_attempts, kind } => {
                // The next attempt starts from the beginning.
                self.text.clear();
                retry_event(attempt, delay, message, max_attempts, kind)
            }
            ModelEvent::Fallback { from, to, message } => {
                self.text.clear();
                AgentEvent::ModelFallback { from: from.to_string(), to: to.to_string(), message }
            }
            ModelEvent::Answering(info) => {
                self.answering = Some(info);
                return None;
            }
            ModelEvent::Done(response) => return Some(response),
        };
        emitter.emit(shown);
        None
    }
}

fn response_metadata(by: ModelId, stop: StopCause, usage: TokenUsage) -> ResponseMetadata {
    ResponseMetadata { provider: by.provider, model: by.model, stop, usage }
}

/// An answer during the review by hooks.
pub(super) struct ResponseReview {
    pub(super) response: ModelResponse,
    /// The hooks that changed the answer, in order.
    pub(super) edited_by: Vec<String>,
}

/// The reasons why an answer is not added to the conversation.
pub(super) enum ResponseRejection {
    Cancelled,
    Refused(AttributedRefusal),
}

impl ResponseReview {
    pub(super) fn new(response: ModelResponse) -> Self {
        Self { response, edited_by: Vec::new() }
    }

    /// Has the hooks edit the answer, one after the other.
    ///
    /// # Errors
    /// The first rejection; later hooks are not asked.
    pub(super) async fn ask_hooks(
        &mut self,
        run: &RunContext,
        step: u32,
        answered_by: &ModelId,
    ) -> Result<(), ResponseRejection> {
        for hook in run.agent.current_hooks::<dyn AfterModelResponse>() {
            let received = received_response(step, answered_by, &self.response);
            let refusal = match run.await_decision(hook.after_model_response(&run.cancel, &received)).await {
                Ok(ResponseDecision::Keep) => continue,
                Ok(ResponseDecision::Edit { content }) => {
                    if content != self.response.content {
                        self.edit(content);
                        self.edited_by.push(hook.name().to_owned());
                    }
                    continue;
                }
                Ok(ResponseDecision::Refuse(refusal)) => refusal,
                Err(NoDecision::Cancelled) => return Err(ResponseRejection::Cancelled),
                Err(NoDecision::Panicked) => Refusal::for_turn(PANICKED),
            };
            return Err(ResponseRejection::Refused(refusal.attribute_to(hook.name())));
        }
        Ok(())
    }

    /// Replaces the content. The provider's native form is removed, because it would still contain the original
    /// content.
    fn edit(&mut self, content: Vec<AssistantBlock>) {
        self.response.stop = match (tool_calls_of(&content).next(), self.response.stop) {
            (None, StopCause::ToolUse) => StopCause::End,
            (Some(_), StopCause::End) => StopCause::ToolUse,
            (_, stop) => stop,
        };
        self.response.native = None;
        self.response.content = content;
    }
}

/// Returns the deltas that are held back until hooks have decided.
pub(super) fn suppressed_deltas(agent: &AgentState) -> SuppressedDeltas {
    let reviewers = agent.current_hooks::<dyn AfterModelResponse>();
    SuppressedDeltas {
        deltas: reviewers.iter().any(|hook| hook.suppresses_deltas()),
        thinking: !agent.current_hooks::<dyn BeforeAssistantMessage>().is_empty(),
    }
}

fn received_response(step: u32, model: &ModelId, response: &ModelResponse) -> ReceivedResponse {
    ReceivedResponse {
        step,
        model: model.clone(),
        content: response.content.clone(),
        stop: response.stop,
        usage: response.usage,
    }
}

fn response_event(response: &ModelResponse) -> AgentEvent {
    let thinks = |block: &AssistantBlock| matches!(block, AssistantBlock::Thinking { .. });
    AgentEvent::ModelResponse {
        text_bytes: text_of(&response.content).len() as u64,
        tool_calls: tool_calls_of(&response.content).count() as u64,
        thinking: response.content.iter().any(thinks),
    }
}

pub(super) fn retry_event(
    attempt: u32,
    delay: Duration,
    message: String,
    max_attempts: u32,
    kind: ModelErrorKind,
) -> AgentEvent {
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    AgentEvent::Retry {
        attempt,
        delay_ms,
        message,
        max_attempts: Some(max_attempts),
        reason: retry_reason(kind),
    }
}

fn retry_reason(kind: ModelErrorKind) -> Option<RetryReason> {
    match kind {
        ModelErrorKind::RateLimited => Some(RetryReason::RateLimited),
        ModelErrorKind::Unavailable => Some(RetryReason::Unavailable),
        ModelErrorKind::Connection | ModelErrorKind::Truncated => Some(RetryReason::Connection),
        ModelErrorKind::Auth
        | ModelErrorKind::Rejected
        | ModelErrorKind::Overflow
        | ModelErrorKind::Cancelled => None,
    }
}
