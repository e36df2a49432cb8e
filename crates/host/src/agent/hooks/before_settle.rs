//! The hook before a run ends for one extension.

use async_trait::async_trait;
use haft_core::hooks::{BeforeSettle, SettleDecision, SettlingRun};
use haft_core::sanitize::strip_hidden_chars;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{BeforeSettleDecision, InterceptBeforeSettle};
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::ManagedExtension;

#[async_trait]
impl BeforeSettle for ManagedExtension {
    async fn before_settle(&self, cancel: &CancellationToken, run: &SettlingRun) -> SettleDecision {
        let SettlingRun { text, continued } = run.clone();
        match self.query(cancel, InterceptBeforeSettle { text, continued }).await {
            Ok(BeforeSettleDecision::Settle) | Err(_) => SettleDecision::Settle,
            Ok(BeforeSettleDecision::GoOn { text }) => {
                SettleDecision::GoOn { text: label_message(self, &text) }
            }
        }
    }
}

/// Adds the origin to a message, as to the prompt of a command, and removes invisible characters.
fn label_message(entry: &ManagedExtension, text: &str) -> String {
    let read = strip_hidden_chars(text);
    if let Some(extension) = entry.handle() {
        extension.reporter().report_hidden_text(read.hidden, "the message that continues the run");
    }
    match is_up(Defense::CommandOrigin) {
        true => format!("[from extension {}]\n{}", entry.name(), read.text),
        false => read.text.into_owned(),
    }
}
