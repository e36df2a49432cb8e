//! The hook for an encoded request for one extension.

use async_trait::async_trait;
use haft_core::hooks::{BeforeProviderRequest, ProviderRequest, ProviderRequestDecision};
use haft_core::model::{MAX_HEADERS, ModelId, check_header};
use haft_protocol::ext::{BeforeProviderRequestDecision, InterceptBeforeProviderRequest};
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::ManagedExtension;

#[async_trait]
impl BeforeProviderRequest for ManagedExtension {
    async fn before_provider_request(
        &self,
        cancel: &CancellationToken,
        request: &ProviderRequest,
    ) -> ProviderRequestDecision {
        let ModelId { provider, model } = request.model.clone();
        let question = InterceptBeforeProviderRequest { provider, model, payload: request.payload.clone() };
        let (payload, headers) = match self.query(cancel, question).await {
            Ok(BeforeProviderRequestDecision::Unchanged) | Err(_) => return ProviderRequestDecision::Send,
            Ok(BeforeProviderRequestDecision::Change { payload, headers }) => (payload, headers),
        };
        let refused = match headers.len() > MAX_HEADERS {
            true => Some(format!("more than {MAX_HEADERS} headers")),
            false => headers.iter().find_map(|(name, value)| check_header(name, value).err()),
        };
        if let Some(detail) = refused {
            self.report_hook_error(&format!(
                "before_provider_request intercept: {detail}; the request was not changed"
            ));
            return ProviderRequestDecision::Send;
        }
        ProviderRequestDecision::Change { payload, headers: headers.into_iter().collect() }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}
