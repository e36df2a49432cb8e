//! The hook before a run ends for one extension.

use async_trait::async_trait;
use haft_core::hooks::{BeforeSettle, SettleDecision, SettlingRun};
use haft_protocol::ext::{BeforeSettleDecision, InterceptBeforeSettle};
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::ManagedExtension;
use crate::extension::frontend::LabeledText;

#[async_trait]
impl BeforeSettle for ManagedExtension {
    async fn before_settle(&self, cancel: &CancellationToken, run: &SettlingRun) -> SettleDecision {
        let SettlingRun { text, continued, .. } = run.clone();
        match self.query(cancel, InterceptBeforeSettle { text, continued }).await {
            Ok(BeforeSettleDecision::Settle) | Err(_) => SettleDecision::Settle,
            Ok(BeforeSettleDecision::GoOn { text }) => {
                SettleDecision::GoOn { text: label_message(self, &text) }
            }
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

/// Adds the origin to a message, as to the prompt of a command, and removes invisible characters.
fn label_message(entry: &ManagedExtension, text: &str) -> String {
    let LabeledText { text, hidden } = LabeledText::new(entry.name(), "", text);
    if let Some(extension) = entry.handle() {
        extension.reporter().report_hidden_text(hidden, "the message that continues the run");
    }
    text
}
