//! The check of an API key by a request that costs nothing.

use reqwest::Url;
use secrecy::SecretString;

use super::provider::ProviderCandidate;
use super::{EnvironmentProbe, configured_headers, listing, without_password};
use crate::config::{ApiDialect, ModelConfig};
use crate::http::{RequestLimits, send_get};
use crate::models::ModelsFile;
use crate::timeouts::Timeouts;

/// The size of the part of an answer that is read, in bytes.
const BODY_LIMIT: usize = 16 * 1024;

/// Why a key was not found to be good. The message never holds the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The provider is not known.
    #[error("unknown provider {0:?}")]
    UnknownProvider(String),
    /// The provider refused the key.
    #[error("{provider} refused the key ({status})")]
    Refused {
        /// The provider.
        provider: String,
        /// The status of its answer.
        status: u16,
    },
    /// The provider could not be asked, or its answer says nothing of the key.
    #[error("cannot verify the key with {provider}: {reason}")]
    Unchecked {
        /// The provider.
        provider: String,
        /// Why.
        reason: String,
    },
}

/// The server that [`check_key`] asks, without what may be a secret in its address; none where it is not known.
pub fn key_server(
    provider: &str,
    base_url: Option<&str>,
    models: &ModelsFile,
    around: &dyn EnvironmentProbe,
) -> Option<String> {
    let known = ProviderCandidate::by_name(provider, models)?;
    let set = base_url.map(str::to_owned).or_else(|| known.own_address(around));
    let address = set.or_else(|| known.preset?.base_url.map(str::to_owned))?;
    Some(without_password(&address))
}

/// Asks the provider for its models, or what it has that needs a key, with this one. It is asked at `base_url`, or else
/// where a request without that would go.
///
/// # Errors
/// [`KeyError`].
pub async fn check_key(
    provider: &str,
    base_url: Option<&str>,
    key: SecretString,
    models: &ModelsFile,
    around: &dyn EnvironmentProbe,
) -> Result<(), KeyError> {
    let unchecked = |reason: String| KeyError::Unchecked { provider: provider.to_owned(), reason };
    let known = ProviderCandidate::by_name(provider, models);
    let known = known.ok_or_else(|| KeyError::UnknownProvider(provider.to_owned()))?;
    let config = ModelConfig {
        base_url: base_url.map(str::to_owned).or_else(|| known.own_address(around)),
        api_key: Some(key),
        headers: configured_headers(&known, around).map_err(|error| unchecked(error.to_string()))?,
        ..ModelConfig::new(known.dialect(), provider, "-")
    };
    let timeouts = Timeouts::default();
    let bounds = RequestLimits { wait: timeouts.probe_key, body: BODY_LIMIT };
    let answer = send_get(&config, &timeouts, bounds, |base| key_check_address(&config, base)).await;
    let answer = answer.map_err(unchecked)?;
    match answer.status {
        200..=299 => Ok(()),
        401 | 403 => Err(KeyError::Refused { provider: provider.to_owned(), status: answer.status }),
        // Gemini's way.
        400 if answer.body.contains("API_KEY_INVALID") => {
            Err(KeyError::Refused { provider: provider.to_owned(), status: answer.status })
        }
        status => Err(unchecked(format!("the server answered with status {status}"))),
    }
}

/// Returns the address of a request that needs a key and costs nothing.
fn key_check_address(config: &ModelConfig, base: &Url) -> String {
    // Its models are told to everybody.
    if config.dialect == ApiDialect::OpenAiChat && config.provider == "openrouter" {
        return format!("{}/key", base.as_str().trim_end_matches('/'));
    }
    listing::list_address(config.dialect, base, 1)
}
