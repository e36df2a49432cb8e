//! One request of the agent: attempts, waits between them, and cancellation.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::{StreamExt, stream};
use haft_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer_stream::{AnswerStream, EncodedRequest};
use super::failure::AttemptFailure;
use super::final_answer::FinalAnswerReader;
use super::{HttpSetup, request};
use crate::retry::{MAX_ATTEMPTS, delay};
use crate::wire::AnswerError;

/// The state of a request between two events.
pub(super) struct RequestDriver {
    cancel: CancellationToken,
    setup: Arc<HttpSetup>,
    request: EncodedRequest,
    /// The number of the current attempt, counted from 1.
    attempt: u32,
    /// The end of the time for all attempts; set when the first one starts.
    deadline: Option<Instant>,
    lacks_path: bool,
    phase: AttemptPhase,
    /// For a request whose answer is a call of a tool.
    final_answer: Option<FinalAnswerReader>,
}

enum AttemptPhase {
    /// The next attempt can start.
    Ready,
    /// The wait before the next attempt.
    Waiting(Pin<Box<tokio::time::Sleep>>),
    /// An attempt is active; `begun` after the first piece of the answer, when it cannot be repeated.
    Asking {
        answer: Box<AnswerStream>,
        begun: bool,
    },
    Over,
}

impl RequestDriver {
    fn new(cancel: CancellationToken, setup: Arc<HttpSetup>, mut request: EncodedRequest) -> Self {
        Self {
            final_answer: request.answer_tool.take().map(FinalAnswerReader::new),
            cancel,
            setup,
            request,
            attempt: 1,
            deadline: None,
            lacks_path: false,
            phase: AttemptPhase::Ready,
        }
    }

    /// Encodes a request and has its hooks review it.
    ///
    /// # Errors
    /// If there is nothing to send.
    pub(super) async fn prepare_request(
        setup: &Arc<HttpSetup>,
        cancel: &CancellationToken,
        request: &ModelRequest,
    ) -> Result<Self, ModelError> {
        let encoded = request::encode(setup, request)?;
        let reviewed = request::apply_review(setup, cancel, &request.review, encoded).await;
        Ok(Self::new(cancel.clone(), setup.clone(), reviewed))
    }

    /// True if the request failed because the server has no such path.
    pub(super) fn lacks_path(&self) -> bool {
        self.lacks_path
    }

    pub(super) fn into_stream(self) -> ModelStream {
        stream::unfold(self, |mut run| async move {
            let item = run.next().await?;
            Some((item, run))
        })
        .boxed()
    }

    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let event = match self.next_received().await? {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            let Some(reader) = &mut self.final_answer else { return Some(Ok(event)) };
            if let Some(event) = reader.convert_event(event) {
                return Some(Ok(event));
            }
        }
    }

    async fn next_received(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if matches!(self.phase, AttemptPhase::Over) {
            return None;
        }
        let cancel = self.cancel.clone();
        let limit = self.setup.timeouts.request;
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + limit);
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                // Dropping the answer closes its connection.
                self.phase = AttemptPhase::Over;
                Some(Err(ModelError::new(ModelErrorKind::Cancelled, "the request was cancelled")))
            }
            () = tokio::time::sleep_until(deadline) => {
                self.phase = AttemptPhase::Over;
                Some(Err(self.final_error(self.setup.reporter.late_answer(limit))))
            }
            item = self.next_event() => item,
        }
    }

    async fn next_event(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            match &mut self.phase {
                AttemptPhase::Over => return None,
                AttemptPhase::Waiting(sleep) => {
                    sleep.as_mut().await;
                    self.phase = AttemptPhase::Ready;
                }
                AttemptPhase::Ready => {
                    let answer = AnswerStream::new(self.setup.clone(), self.request.clone());
                    self.phase = AttemptPhase::Asking { answer: Box::new(answer), begun: false };
                }
                AttemptPhase::Asking { answer, begun } => {
                    let begun_before = *begun;
                    match answer.next().await {
                        Some(Ok(event)) => {
                            *begun = true;
                            if matches!(event, ModelEvent::Done(_)) {
                                self.phase = AttemptPhase::Over;
                            }
                            return Some(Ok(event));
                        }
                        Some(Err(failed)) => return Some(self.handle_failure(&failed, begun_before)),
                        None => self.phase = AttemptPhase::Over,
                    }
                }
            }
        }
    }

    fn handle_failure(&mut self, error: &AnswerError, begun: bool) -> Result<ModelEvent, ModelError> {
        let failure = self.setup.reporter.to_failure(error, begun, SystemTime::now());
        if begun || !failure.passes || self.attempt >= MAX_ATTEMPTS {
            self.phase = AttemptPhase::Over;
            self.lacks_path = !begun && failure.lacks_path;
            return Err(self.final_error(failure));
        }
        let delay = delay(self.attempt, random_jitter(), failure.error.retry_after, &self.setup.timeouts);
        self.attempt += 1;
        self.phase = AttemptPhase::Waiting(Box::pin(tokio::time::sleep(delay)));
        tracing::info!(attempt = self.attempt, ?delay, reason = %failure.error, "model request failed; retrying");
        let ModelError { kind, message, .. } = failure.error;
        Ok(ModelEvent::Retry { attempt: self.attempt, delay, message, max_attempts: MAX_ATTEMPTS, kind })
    }

    fn final_error(&self, failure: AttemptFailure) -> ModelError {
        let mut error = failure.error;
        if failure.passes && self.attempt > 1 {
            error.message = format!("{} (tried {} times)", error.message, self.attempt);
        }
        tracing::warn!(kind = ?error.kind, reason = %error.message, "model request failed");
        error
    }
}

/// Returns a number from 0 to 1 that differs between processes; its quality does not matter.
fn random_jitter() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    f64::from(now.subsec_nanos() % 1_000_000) / 1_000_000.0
}
