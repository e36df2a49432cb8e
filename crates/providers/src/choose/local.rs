//! Servers on this machine, and servers that the user configured instead.

use futures::future::join_all;

use super::provider::ProviderCandidate;
use super::{ChoiceReason, EnvironmentProbe, configured_headers, without_password};
use crate::config::ModelConfig;
use crate::models::ModelsFile;
use crate::presets::{PRESETS, ProviderPreset};

/// A server on this machine, or one that the environment or `models.json` configures instead.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalServer {
    /// The preset of the server, determined by its port.
    pub preset: &'static ProviderPreset,
    /// The address without secrets; `None` for the default port.
    pub address: Option<String>,
    /// The listed models; never empty.
    pub models: Vec<String>,
}

impl LocalServer {
    /// Returns a short description of the address.
    pub fn location(&self) -> String {
        match &self.address {
            Some(address) => address.clone(),
            None => format!("port {}", self.preset.local_port.unwrap_or_default()),
        }
    }

    pub(super) fn choice_reason(&self) -> ChoiceReason {
        match &self.address {
            Some(address) => ChoiceReason::Server(address.clone()),
            None => ChoiceReason::Local(self.preset.local_port.unwrap_or_default()),
        }
    }
}

/// Returns the local servers that answer, in the order of [`PRESETS`]: each on its default port or at its configured
/// address.
pub async fn local_servers(models: &ModelsFile, environment: &dyn EnvironmentProbe) -> Vec<LocalServer> {
    let local = PRESETS.iter().filter(|preset| preset.local_port.is_some());
    let found = local.map(|preset| async move {
        let address = ProviderCandidate::from_preset(preset, models).own_address(environment);
        let models = match &address {
            Some(address) => list_at_address(address, preset, models, environment).await,
            None => list_on_usual_port(preset, environment).await,
        };
        let address = address.as_deref().map(without_password);
        (!models.is_empty()).then_some(LocalServer { preset, address, models })
    });
    join_all(found).await.into_iter().flatten().collect()
}

/// A server on a default port is contacted without key and headers, because it may be any program.
async fn list_on_usual_port(
    preset: &'static ProviderPreset,
    environment: &dyn EnvironmentProbe,
) -> Vec<String> {
    let (Some(port), Some(url)) = (preset.local_port, preset.base_url) else { return Vec::new() };
    if !environment.is_listening(port).await {
        return Vec::new();
    }
    let base_url = Some(url.to_owned());
    environment
        .list_models(&ModelConfig { base_url, ..ModelConfig::new(preset.dialect, preset.name, "") })
        .await
}

/// A configured server is contacted as for answers, with its key and headers. A server with invalid headers is skipped.
async fn list_at_address(
    address: &str,
    preset: &'static ProviderPreset,
    models: &ModelsFile,
    environment: &dyn EnvironmentProbe,
) -> Vec<String> {
    let provider = ProviderCandidate::from_preset(preset, models);
    let Ok(headers) = configured_headers(&provider, environment) else { return Vec::new() };
    let server = ModelConfig {
        base_url: Some(address.to_owned()),
        api_key: provider.key(environment).map(|(key, _)| key),
        headers,
        ..ModelConfig::new(provider.dialect(), preset.name, "")
    };
    environment.list_models(&server).await
}
