//! The body of each request to the provider: logged, and with another temperature.

use haft_sdk::{BeforeProviderRequestDecision, Extension};
use serde_json::Value;

pub(crate) fn build() -> Extension {
    Extension::new("provider_request", "1.0.0").before_provider_request(|request, host| async move {
        let mut payload: Value = request.payload.read()?;
        host.log(&payload);
        payload["temperature"] = 0.into();
        Ok::<_, serde_json::Error>(BeforeProviderRequestDecision::replace(payload))
    })
}
