//! Providers and their keys.

use std::sync::Arc;

use haft_config::{Auth, ExposeSecret as _, Home, SecretString};
use haft_providers::{KeyHome, Models, PRESETS, key_home};
use haft_tui::app::Provider;

use super::Ground;
use crate::login;

/// The providers that there are, and where the key of each comes from.
pub(super) fn providers(home: &Home) -> Vec<Provider> {
    let models = Models::load(&home.models_file()).unwrap_or_default();
    let auth = Auth::load(&home.auth_file()).unwrap_or_default();
    let names = PRESETS.iter().map(|preset| preset.name).chain(models.providers());
    let provider = |name: &str| {
        let KeyHome { stored_as, variable } = key_home(name, &models)?;
        let variable = variable.filter(|name| std::env::var_os(name).is_some_and(|key| !key.is_empty()));
        let stored = auth.key(&stored_as).is_some();
        let key = variable.or_else(|| stored.then(|| "auth.json".to_owned()));
        Some(Provider { name: name.to_owned(), key, stored })
    };
    let mut all: Vec<Provider> = names.filter_map(provider).collect();
    let mut seen = std::collections::HashSet::new();
    all.retain(|provider| seen.insert(provider.name.clone()));
    all
}

/// Stores a key, once the provider has taken it.
pub(super) async fn login(
    ground: Arc<Ground>,
    provider: String,
    key: SecretString,
) -> anyhow::Result<String> {
    let home = &ground.home;
    let key = login::usable(key.expose_secret())?;
    let models = Models::load(&home.models_file())?;
    let probed = login::probe(home, &provider, &key, &models, |_| {}).await;
    probed.map_err(|error| error.context("nothing was stored; check the key"))?;
    Ok(login::store(home, &provider, &key, &models)?.join("; "))
}

/// Removes a stored key.
pub(super) fn logout(home: &Home, provider: String) -> anyhow::Result<String> {
    let models = Models::load(&home.models_file())?;
    Ok(login::remove(home, provider, &models)?.join("; "))
}
