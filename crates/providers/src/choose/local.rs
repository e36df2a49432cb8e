//! Servers of this machine, and those that the user names in their place.

use futures::future::join_all;

use super::provider::ProviderCandidate;
use super::{ChoiceReason, EnvironmentProbe, configured_headers, without_password};
use crate::config::ModelConfig;
use crate::models::ModelsFile;
use crate::presets::{PRESETS, ProviderPreset};

/// A server of this machine, or one that the environment or `models.json` names in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Which it is, going by its port.
    pub preset: &'static ProviderPreset,
    /// Where it is, if it is not on its usual port, without what may be a secret.
    pub address: Option<String>,
    /// The models it lists; never empty.
    pub models: Vec<String>,
}

impl LocalServer {
    /// Where it is, in a word or two.
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

/// The local servers that answer now, in the order of [`PRESETS`]: each on its usual port, or where the user says that it
/// is.
pub async fn local_servers(models: &ModelsFile, around: &dyn EnvironmentProbe) -> Vec<LocalServer> {
    let local = PRESETS.iter().filter(|preset| preset.local_port.is_some());
    let found = local.map(|preset| async move {
        let address = ProviderCandidate::from_preset(preset, models).own_address(around);
        let models = match &address {
            Some(address) => list_at_address(address, preset, models, around).await,
            None => list_on_usual_port(preset, around).await,
        };
        let address = address.as_deref().map(without_password);
        (!models.is_empty()).then_some(LocalServer { preset, address, models })
    });
    join_all(found).await.into_iter().flatten().collect()
}

/// Whatever listens on the usual port is asked without key and headers: it may be anything.
async fn list_on_usual_port(preset: &'static ProviderPreset, around: &dyn EnvironmentProbe) -> Vec<String> {
    let (Some(port), Some(url)) = (preset.local_port, preset.base_url) else { return Vec::new() };
    if !around.is_listening(port).await {
        return Vec::new();
    }
    let base_url = Some(url.to_owned());
    around.list_models(&ModelConfig { base_url, ..ModelConfig::new(preset.dialect, preset.name, "") }).await
}

/// A server that the user names is asked as it will be for answers. One whose headers cannot be made is passed over.
async fn list_at_address(
    address: &str,
    preset: &'static ProviderPreset,
    models: &ModelsFile,
    around: &dyn EnvironmentProbe,
) -> Vec<String> {
    let provider = ProviderCandidate::from_preset(preset, models);
    let Ok(headers) = configured_headers(&provider, around) else { return Vec::new() };
    let server = ModelConfig {
        base_url: Some(address.to_owned()),
        api_key: provider.key(around).map(|(key, _)| key),
        headers,
        ..ModelConfig::new(provider.dialect(), preset.name, "")
    };
    around.list_models(&server).await
}
