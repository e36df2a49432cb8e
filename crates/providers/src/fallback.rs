//! Fallback models: while a model is not available, the next one is used.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelFacts, ModelId, ModelRequest, ModelStream,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::timeouts::FALLBACK_REST;

/// Models in the order of preference. If a model is rate limited, unavailable or rejects its key, the next one receives
/// the request. This happens after all of the model's retries and before the first piece of an answer.
/// [`ModelEvent::Fallback`] reports the switch, and [`ModelEvent::Answering`] names the model that answers. That model
/// is used first for five minutes; then the preferred model is tried again. A rejection because of the content or
/// length of the request is returned as the answer.
#[derive(Clone)]
pub struct FallbackModel {
    shared: Arc<FallbackState>,
}

struct FallbackState {
    models: Vec<Arc<dyn Model>>,
    active: Mutex<ActiveModel>,
}

/// The model that is tried first.
#[derive(Debug, Clone, Copy, Default)]
struct ActiveModel {
    index: usize,
    until: Option<Instant>,
}

impl FallbackModel {
    /// Creates a model that uses `first`, and `others` as fallbacks in this order.
    pub fn new(first: Arc<dyn Model>, others: impl IntoIterator<Item = Arc<dyn Model>>) -> Self {
        let models = [first].into_iter().chain(others).collect();
        Self { shared: Arc::new(FallbackState { models, active: Mutex::default() }) }
    }
}

#[async_trait]
impl Model for FallbackModel {
    fn info(&self) -> ModelId {
        self.shared.model(self.shared.preferred_index()).info()
    }

    fn facts(&self) -> ModelFacts {
        self.shared.model(self.shared.preferred_index()).facts()
    }

    async fn stream(
        &self,
        cancel: CancellationToken,
        request: ModelRequest,
    ) -> Result<ModelStream, ModelError> {
        let first = self.shared.preferred_index();
        let others = (0..self.shared.models.len()).filter(|index| *index != first).collect();
        let asking = FallbackRequest {
            shared: self.shared.clone(),
            cancel,
            request,
            first,
            index: first,
            others,
            phase: FallbackPhase::Ready,
            begins: None,
        };
        Ok(stream::unfold(asking, |mut asking| async move {
            let item = asking.next().await?;
            Some((item, asking))
        })
        .boxed())
    }
}

impl FallbackState {
    fn model(&self, index: usize) -> &Arc<dyn Model> {
        self.models.get(index).unwrap_or(&self.models[0])
    }

    fn preferred_index(&self) -> usize {
        let active = *self.lock();
        let rested = active.until.is_some_and(|until| until <= Instant::now());
        if rested { 0 } else { active.index }
    }

    fn set_active(&self, index: usize) {
        let until = (index > 0).then(|| Instant::now() + FALLBACK_REST);
        *self.lock() = ActiveModel { index, until };
    }

    fn lock(&self) -> MutexGuard<'_, ActiveModel> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request during its attempts with several models.
struct FallbackRequest {
    shared: Arc<FallbackState>,
    cancel: CancellationToken,
    request: ModelRequest,
    first: usize,
    index: usize,
    /// The models that were not tried yet.
    others: VecDeque<usize>,
    phase: FallbackPhase,
    /// The first piece of the answer, while the event about its model is sent.
    begins: Option<ModelEvent>,
}

enum FallbackPhase {
    Ready,
    /// The model answers; `begun` after the first piece of the answer, when no other model can replace it.
    Answering {
        stream: ModelStream,
        begun: bool,
    },
    Over,
}

impl FallbackRequest {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if let Some(event) = self.begins.take() {
            return Some(Ok(event));
        }
        loop {
            match &mut self.phase {
                FallbackPhase::Over => return None,
                FallbackPhase::Ready => {
                    let model = self.shared.model(self.index);
                    match model.stream(self.cancel.clone(), self.request.clone()).await {
                        Ok(stream) => self.phase = FallbackPhase::Answering { stream, begun: false },
                        Err(error) => return Some(self.fail_over(error, false)),
                    }
                }
                FallbackPhase::Answering { stream, begun } => {
                    let begun_before = *begun;
                    return match stream.next().await {
                        // A model that represents several reports this itself; otherwise the event would be sent twice.
                        Some(Ok(ModelEvent::Answering(_))) => continue,
                        Some(Ok(event)) if event.is_answer() && !begun_before => {
                            *begun = true;
                            Some(Ok(self.start_response(event)))
                        }
                        Some(Ok(event)) => Some(Ok(event)),
                        Some(Err(error)) => Some(self.fail_over(error, begun_before)),
                        None => None,
                    };
                }
            }
        }
    }

    /// Reports the model that answers, before the first piece of the answer.
    fn start_response(&mut self, event: ModelEvent) -> ModelEvent {
        if self.index != self.first {
            self.shared.set_active(self.index);
        }
        self.begins = Some(event);
        ModelEvent::Answering(self.shared.model(self.index).info())
    }

    fn fail_over(&mut self, error: ModelError, begun: bool) -> Result<ModelEvent, ModelError> {
        let next = if !begun && another_may_answer(error.kind) { self.others.pop_front() } else { None };
        let Some(next) = next else {
            self.phase = FallbackPhase::Over;
            return Err(error);
        };
        let from = self.shared.model(self.index).info();
        let to = self.shared.model(next).info();
        tracing::warn!(%from, %to, reason = %error.message, "switched to the fallback model");
        (self.index, self.phase) = (next, FallbackPhase::Ready);
        Ok(ModelEvent::Fallback { from, to, message: error.message })
    }
}

/// True if the failure is caused by the provider and not by the request.
fn another_may_answer(kind: ModelErrorKind) -> bool {
    match kind {
        ModelErrorKind::Auth
        | ModelErrorKind::RateLimited
        | ModelErrorKind::Unavailable
        | ModelErrorKind::Connection => true,
        ModelErrorKind::Rejected
        | ModelErrorKind::Overflow
        | ModelErrorKind::Truncated
        | ModelErrorKind::Cancelled => false,
        _ => false,
    }
}

impl fmt::Debug for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = self.shared.models.iter().map(|model| model.info().to_string());
        f.debug_list().entries(models).finish()
    }
}
