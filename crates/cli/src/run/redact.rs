//! Removes the keys of providers from the results of tools, before any hook, the session or the model gets them.

use async_trait::async_trait;
use haft_core::hooks::{AfterToolExecute, CancellationToken, FinishedCall, ResultDecision};
use haft_core::tool::ToolOutput;
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_providers::KeyRedactor;

/// The hook that removes keys.
pub(super) struct RedactKeys(pub(super) KeyRedactor);

#[async_trait]
impl AfterToolExecute for RedactKeys {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        mut output: ToolOutput,
    ) -> ResultDecision {
        for block in &mut output.content {
            if let ContentBlock::Text { text } = block
                && let Some(redacted) = self.0.redact(text)
            {
                *text = redacted;
            }
        }
        let has_key = |details: &RawJson| self.0.redact(details.as_str()).is_some();
        output.details = output.details.filter(|details| !has_key(details));
        output.into()
    }

    fn name(&self) -> &'static str {
        "the removal of keys"
    }
}
