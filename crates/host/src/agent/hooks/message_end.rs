//! The hook after an answer of the model for one extension.

use async_trait::async_trait;
use haft_core::hooks::{AfterModelResponse, ReceivedResponse, ResponseDecision};
use haft_protocol::ext::{InterceptMessageEnd, MessageEndDecision};
use tokio_util::sync::CancellationToken;

use super::context::clean_blocks;
use super::refuse_turn;
use crate::agent::managed_extension::ManagedExtension;

#[async_trait]
impl AfterModelResponse for ManagedExtension {
    async fn after_model_response(
        &self,
        cancel: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision {
        let question = InterceptMessageEnd { content: response.content.clone(), stop: response.stop };
        let mut content = match self.query(cancel, question).await {
            Ok(MessageEndDecision::Unchanged) | Err(_) => return ResponseDecision::Keep,
            Ok(MessageEndDecision::Replace { content }) => content,
            Ok(MessageEndDecision::Stop(stop)) => {
                return ResponseDecision::Refuse(refuse_turn(Self::name(self), stop));
            }
        };
        // The model's own blocks may contain anything.
        let (mut hidden, mut cleaned) = (0, Ok(()));
        for block in content.iter_mut().filter(|block| !response.content.contains(block)) {
            cleaned = cleaned.and_then(|()| clean_blocks(std::slice::from_mut(block), &mut hidden));
        }
        if let Err(detail) = cleaned {
            self.report_hook_error(&format!("message_end intercept: {detail}; the answer was not changed"));
            return ResponseDecision::Keep;
        }
        if let Some(extension) = self.handle() {
            extension.reporter().report_hidden_text(hidden, "a changed answer");
        }
        ResponseDecision::Edit { by: Self::name(self).to_string(), content }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}
