//! The stand-in for a model that is not configured, so that the interactive mode can open and offer a choice.

use async_trait::async_trait;
use haft_core::model::{Advice, Model, ModelError, ModelErrorKind, ModelId, ModelRequest, ModelStream};
use haft_tui::app::NO_MODEL;
use tokio_util::sync::CancellationToken;

/// A model that answers each request with an error.
#[derive(Debug)]
pub(in crate::run) struct NoModel {
    /// The reason.
    pub(in crate::run) reason: String,
    /// The next step.
    pub(in crate::run) advice: Option<Advice>,
}

#[async_trait]
impl Model for NoModel {
    fn info(&self) -> ModelId {
        ModelId { provider: NO_MODEL.to_owned(), model: NO_MODEL.to_owned() }
    }

    async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
        let mut error = ModelError::new(ModelErrorKind::Auth, self.reason.clone());
        error.advice = self.advice;
        Err(error)
    }
}
