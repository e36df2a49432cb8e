//! Models that hooks name, beside the one that the agent asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use haft_config::{Auth, Settings};
use haft_core::model::{Model, ModelInfo, ModelSource};
use haft_providers::{Models, Wish, choose, place};

use super::{Keyed, beside, provider_of};

/// The most models that are kept: each has connections of its own.
const MOST: usize = 16;

/// Finds a model as `--model` does. One of the provider that the user has set an address or a key for is asked there and with
/// that; one of another provider is not.
pub(crate) struct OtherModels {
    first: Wish,
    /// The provider that `first` is about.
    provider: String,
    /// Whether the user has set the provider, and not only a key for one.
    fixed: bool,
    models: Models,
    auth: Auth,
    /// Those that were named, by provider and id.
    opened: Mutex<HashMap<(String, String), Arc<dyn Model>>>,
}

impl OtherModels {
    /// `first`: what flags, environment and files say of the model that is asked when the run begins.
    pub(in crate::run) fn new(
        first: Wish,
        settings: &Settings,
        models: Models,
        auth: Auth,
        asked: &ModelInfo,
    ) -> Self {
        let (provider, fixed) = provider_of(&first, settings, asked);
        Self { fixed, provider, first, models, auth, opened: Mutex::default() }
    }

    async fn open(&self, provider: &str, model: &str) -> anyhow::Result<Arc<dyn Model>> {
        let wish = beside(&self.first, &self.provider, provider, model);
        Ok(choose(wish, &self.models, &Keyed::new(&self.auth)).await?.choice.open()?)
    }
}

#[async_trait]
impl ModelSource for OtherModels {
    async fn model(&self, name: &str, asked: &ModelInfo) -> Result<Arc<dyn Model>, String> {
        let at = place(name, &asked.provider, self.fixed, &self.models, &Keyed::new(&self.auth));
        let opened = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened().get(&at) {
            return Ok(Arc::clone(model));
        }
        let model = self.open(&at.0, &at.1).await.map_err(|error| format!("{error:#}"))?;
        let mut opened = opened();
        if opened.len() >= MOST {
            opened.clear();
        }
        opened.insert(at, Arc::clone(&model));
        Ok(model)
    }
}
