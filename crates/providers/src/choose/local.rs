//! Servers of this machine, and those that the user names in their place.

use futures::future::join_all;

use super::provider::Provider;
use super::{Because, Surroundings, own_headers, without_password};
use crate::config::ModelConfig;
use crate::models::Models;
use crate::presets::{PRESETS, Preset};

/// A server of this machine, or one that the environment or `models.json` names in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Which it is, going by its port.
    pub preset: &'static Preset,
    /// Where it is, if it is not on its usual port, without what may be a secret.
    pub address: Option<String>,
    /// The models it lists; never empty.
    pub models: Vec<String>,
}

impl LocalServer {
    /// Where it is, in a word or two.
    pub fn place(&self) -> String {
        match &self.address {
            Some(address) => address.clone(),
            None => format!("port {}", self.preset.local_port.unwrap_or_default()),
        }
    }

    pub(super) fn because(&self) -> Because {
        match &self.address {
            Some(address) => Because::Server(address.clone()),
            None => Because::Local(self.preset.local_port.unwrap_or_default()),
        }
    }
}

/// The local servers that answer now, in the order of [`PRESETS`]: each on its usual port, or where the user says that it
/// is.
pub async fn local_servers(models: &Models, around: &dyn Surroundings) -> Vec<LocalServer> {
    let local = PRESETS.iter().filter(|preset| preset.local_port.is_some());
    let found = local.map(|preset| async move {
        let address = Provider::of(preset, models).own_address(around);
        let models = match &address {
            Some(address) => listed_at(address, preset, models, around).await,
            None => listed_here(preset, around).await,
        };
        let address = address.as_deref().map(without_password);
        (!models.is_empty()).then_some(LocalServer { preset, address, models })
    });
    join_all(found).await.into_iter().flatten().collect()
}

/// Whatever listens on the usual port is asked without key and headers: it may be anything.
async fn listed_here(preset: &'static Preset, around: &dyn Surroundings) -> Vec<String> {
    let (Some(port), Some(url)) = (preset.local_port, preset.base_url) else { return Vec::new() };
    if !around.listens(port).await {
        return Vec::new();
    }
    let base_url = Some(url.to_owned());
    around.models(&ModelConfig { base_url, ..ModelConfig::new(preset.dialect, preset.name, "") }).await
}

/// A server that the user names is asked as it will be for answers. One whose headers cannot be made is passed over.
async fn listed_at(
    address: &str,
    preset: &'static Preset,
    models: &Models,
    around: &dyn Surroundings,
) -> Vec<String> {
    let provider = Provider::of(preset, models);
    let Ok(headers) = own_headers(&provider, around) else { return Vec::new() };
    let server = ModelConfig {
        base_url: Some(address.to_owned()),
        api_key: provider.key(around).map(|(key, _)| key),
        headers,
        ..ModelConfig::new(provider.dialect(), preset.name, "")
    };
    around.models(&server).await
}
