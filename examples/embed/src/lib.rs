//! Code that the programs in `src/bin` share: a model that needs neither a key nor the network.
//!
//! The code of `docs/first-embedding.md` and `docs/embedding.md` is compiled here, too, as documentation tests.

use haft_providers::{ScriptError, ScriptedModel};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/first-embedding.md")]
pub struct FirstEmbedding;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
pub struct Embedding;

/// Creates a model that gives the answers in `steps`, a JSON list: see "The scripted model" in
/// `docs/providers.md`.
///
/// In your own program use a model of `haft_providers::choose`, or any other
/// `haft_core::model::Model`.
///
/// # Errors
/// [`ScriptError`] if the steps are not valid.
pub fn scripted(steps: &str) -> Result<ScriptedModel, ScriptError> {
    ScriptedModel::from_json(&format!(r#"{{"steps": {steps}}}"#))
}
