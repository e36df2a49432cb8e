//! One request of the agent: attempts, waits between them, cancellation.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::{StreamExt, stream};
use haft_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelStream};
use rig_core::completion::CompletionRequest;
use tokio_util::sync::CancellationToken;

use super::Setup;
use super::answer::{Answer, Unanswered};
use super::call_ids::CallIds;
use super::failure::Failure;
use super::transport::Transport;
use crate::retry::{MAX_ATTEMPTS, delay};

/// The state of a request between two events.
pub(super) struct Run {
    cancel: CancellationToken,
    setup: Arc<Setup>,
    request: CompletionRequest,
    /// The attempt under way, counted from 1.
    attempt: u32,
    phase: Phase,
}

enum Phase {
    /// The next attempt is to be made.
    Ready,
    /// The wait before the next attempt.
    Waiting(Pin<Box<tokio::time::Sleep>>),
    /// An attempt is under way; `begun` once it gave a piece of answer, after which it cannot be repeated.
    Asking {
        answer: Box<Answer>,
        begun: bool,
    },
    Over,
}

impl Run {
    pub(super) fn new(cancel: CancellationToken, setup: Arc<Setup>, request: CompletionRequest) -> Self {
        Self { cancel, setup, request, attempt: 1, phase: Phase::Ready }
    }

    pub(super) fn into_stream(self) -> ModelStream {
        stream::unfold(self, |mut run| async move {
            let item = run.next().await?;
            Some((item, run))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if matches!(self.phase, Phase::Over) {
            return None;
        }
        let cancel = self.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                // Dropping the answer closes its connection.
                self.phase = Phase::Over;
                Some(Err(ModelError::new(ModelErrorKind::Cancelled, "the request was cancelled")))
            }
            item = self.step() => item,
        }
    }

    async fn step(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            match &mut self.phase {
                Phase::Over => return None,
                Phase::Waiting(sleep) => {
                    sleep.as_mut().await;
                    self.phase = Phase::Ready;
                }
                Phase::Ready => {
                    if let Err(failed) = self.ask() {
                        return Some(self.failed(&failed, false));
                    }
                }
                Phase::Asking { answer, begun } => {
                    let begun_before = *begun;
                    match answer.next().await {
                        Some(Ok(event)) => {
                            *begun = true;
                            if matches!(event, ModelEvent::Done(_)) {
                                self.phase = Phase::Over;
                            }
                            return Some(Ok(event));
                        }
                        Some(Err(failed)) => return Some(self.failed(&failed, begun_before)),
                        None => self.phase = Phase::Over,
                    }
                }
            }
        }
    }

    fn ask(&mut self) -> Result<(), Unanswered> {
        let call_ids = Arc::new(CallIds::default());
        let transport = Transport { client: self.setup.client.clone(), call_ids: call_ids.clone() };
        let stream =
            self.setup.endpoint.stream(transport, self.request.clone()).map_err(Unanswered::Failed)?;
        let answer = Box::new(Answer::new(stream, call_ids, self.setup.clone()));
        self.phase = Phase::Asking { answer, begun: false };
        Ok(())
    }

    fn failed(&mut self, unanswered: &Unanswered, begun: bool) -> Result<ModelEvent, ModelError> {
        let failure = self.setup.blame.failure(unanswered, begun, SystemTime::now());
        if begun || !failure.passes || self.attempt >= MAX_ATTEMPTS {
            self.phase = Phase::Over;
            return Err(self.last_word(failure));
        }
        let delay = delay(self.attempt, jitter(), failure.retry_after, &self.setup.timeouts);
        self.attempt += 1;
        self.phase = Phase::Waiting(Box::pin(tokio::time::sleep(delay)));
        tracing::info!(attempt = self.attempt, ?delay, reason = %failure.error, "model request failed, trying again");
        let ModelError { kind, message } = failure.error;
        Ok(ModelEvent::Retry { attempt: self.attempt, delay, message, max_attempts: MAX_ATTEMPTS, kind })
    }

    fn last_word(&self, failure: Failure) -> ModelError {
        let mut error = failure.error;
        if failure.passes && self.attempt > 1 {
            error.message = format!("{} (tried {} times)", error.message, self.attempt);
        }
        tracing::warn!(kind = ?error.kind, reason = %error.message, "model request failed");
        error
    }
}

/// A number from 0 to 1 that differs between processes; nothing depends on how good it is.
fn jitter() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    f64::from(now.subsec_nanos() % 1_000_000) / 1_000_000.0
}
