//! What the small programs in `src/bin` have in common, which is a model that needs neither key nor network.
//!
//! The code of `docs/first-embedding.md` and `docs/embedding.md` is compiled here, too, as documentation tests.

use haft_providers::{ScriptError, ScriptedModel};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/first-embedding.md")]
pub struct FirstEmbedding;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
pub struct Embedding;

/// A model that says what stands in `steps`, a JSON list: see "The scripted model" in `docs/providers.md`.
///
/// In a program of your own take one of `haft_providers::choose`, or any other `haft_core::model::Model`.
///
/// # Errors
/// [`ScriptError`] when the steps are not valid.
pub fn scripted(steps: &str) -> Result<ScriptedModel, ScriptError> {
    ScriptedModel::from_json(&format!(r#"{{"steps": {steps}}}"#))
}
