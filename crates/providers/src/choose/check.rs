//! Verifies an API key with a request that costs nothing.

use reqwest::Url;
use secrecy::SecretString;

use super::provider::ProviderCandidate;
use super::{EnvironmentProbe, configured_headers, listing, without_password};
use crate::config::{ApiDialect, ModelConfig};
use crate::http::{RequestLimits, send_get};
use crate::models::ModelsFile;
use crate::timeouts::HttpTimeouts;

/// The maximum bytes of an answer that are read.
const BODY_LIMIT: usize = 16 * 1024;

/// The reasons why a key is not verified. The message never contains the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The provider is unknown.
    #[error("unknown provider {0:?}")]
    UnknownProvider(String),
    /// The provider refused the key.
    #[error("{provider} refused the key ({status})")]
    Refused {
        /// The provider.
        provider: String,
        /// The HTTP status.
        status: u16,
    },
    /// The provider could not be reached, or its answer does not show whether the key is valid.
    #[error("cannot verify the key with {provider}: {reason}")]
    Unchecked {
        /// The provider.
        provider: String,
        /// The reason.
        reason: String,
    },
}

/// Returns the server that [`check_key`] contacts, without secrets in its address; `None` for an unknown provider.
pub fn key_server(
    provider: &str,
    base_url: Option<&str>,
    models: &ModelsFile,
    environment: &dyn EnvironmentProbe,
) -> Option<String> {
    let known = ProviderCandidate::by_name(provider, models)?;
    let set = base_url.map(str::to_owned).or_else(|| known.own_address(environment));
    let address = set.or_else(|| known.preset?.base_url.map(str::to_owned))?;
    Some(without_password(&address))
}

/// Verifies a key by requesting the provider's list of models, or another resource that needs a key. The request goes
/// to `base_url`, or else to the configured address.
///
/// # Errors
/// [`KeyError`].
pub async fn check_key(
    provider: &str,
    base_url: Option<&str>,
    key: SecretString,
    models: &ModelsFile,
    environment: &dyn EnvironmentProbe,
) -> Result<(), KeyError> {
    let unchecked = |reason: String| KeyError::Unchecked { provider: provider.to_owned(), reason };
    let known = ProviderCandidate::by_name(provider, models);
    let known = known.ok_or_else(|| KeyError::UnknownProvider(provider.to_owned()))?;
    let config = ModelConfig {
        base_url: base_url.map(str::to_owned).or_else(|| known.own_address(environment)),
        api_key: Some(key),
        headers: configured_headers(&known, environment).map_err(|error| unchecked(error.to_string()))?,
        ..ModelConfig::new(known.dialect(), provider, "-")
    };
    let timeouts = HttpTimeouts::default();
    let bounds = RequestLimits { wait: timeouts.probe_key, body: BODY_LIMIT };
    let answer = send_get(&config, &timeouts, bounds, |base| key_check_address(&config, base)).await;
    let answer = answer.map_err(unchecked)?;
    match answer.status {
        200..=299 => Ok(()),
        401 | 403 => Err(KeyError::Refused { provider: provider.to_owned(), status: answer.status }),
        // Gemini reports an invalid key with status 400.
        400 if answer.body.contains("API_KEY_INVALID") => {
            Err(KeyError::Refused { provider: provider.to_owned(), status: answer.status })
        }
        status => Err(unchecked(format!("the server answered with status {status}"))),
    }
}

/// Returns the address of a request that needs a key and costs nothing.
fn key_check_address(config: &ModelConfig, base: &Url) -> String {
    // OpenRouter lists its models without a key.
    if config.dialect == ApiDialect::OpenAiChat && config.provider == "openrouter" {
        return format!("{}/key", base.as_str().trim_end_matches('/'));
    }
    listing::list_address(config.dialect, base, 1)
}
