//! A model that replays a script: for demos, tests, and trying extensions without a key.
//!
//! The format is described in `docs/providers.md`.

mod play;
mod script;

use std::path::Path;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use futures::StreamExt;
use haft_core::model::{Model, ModelError, ModelErrorKind, ModelFacts, ModelId, ModelRequest, ModelStream};
use tokio_util::sync::CancellationToken;

use play::ScriptPlayer;
use script::ModelScript;

/// A model that answers with the steps of a script. It needs no network, and no clock unless a step has pauses. The
/// same requests produce the same answers. Clones share their position in the script.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    script: Arc<ModelScript>,
    player: Arc<Mutex<ScriptPlayer>>,
}

/// The reasons why a script is not valid.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {path}")]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The text is not a script: invalid JSON, missing `steps`, or an unknown field.
    #[error("the script is not valid: {reason}")]
    Script {
        /// The parser's message, with line and column.
        reason: String,
    },
    /// A step is not valid.
    #[error("step {step} of the script is not valid: {reason}")]
    Step {
        /// The number of the step, counted from 1.
        step: usize,
        /// The error.
        reason: String,
    },
}

impl std::fmt::Debug for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        haft_core::error::write_report(self, f)
    }
}

impl ScriptedModel {
    /// Parses a script from its JSON text.
    ///
    /// # Errors
    /// [`ScriptError::Script`] or [`ScriptError::Step`], which names the step.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script = ModelScript::parse(text)?;
        let player = Mutex::new(ScriptPlayer::new(script.steps.len()));
        Ok(Self { script: Arc::new(script), player: Arc::new(player) })
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// [`ScriptError::Read`], and those of [`ScriptedModel::from_json`].
    pub fn from_file(path: &Path) -> Result<Self, ScriptError> {
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|source| ScriptError::Read { path: path.display().to_string(), source })?;
        Self::from_json(&text)
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn info(&self) -> ModelId {
        ModelId { provider: "scripted".to_owned(), model: self.script.model.clone() }
    }

    fn facts(&self) -> ModelFacts {
        ModelFacts::default().with_window(self.script.context_window)
    }

    async fn stream(
        &self,
        cancel: CancellationToken,
        request: ModelRequest,
    ) -> Result<ModelStream, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::new(ModelErrorKind::Cancelled, "the request was cancelled"));
        }
        let mut player = self.player.lock().unwrap_or_else(PoisonError::into_inner);
        let (lines, pause) = player.answer(&self.script, &request.messages)?;
        Ok(play::cancellable_stream(cancel, lines, pause).boxed())
    }
}
