//! The hook for shell commands of the user for one extension.

use async_trait::async_trait;
use haft_core::hooks::{BashDecision, OnUserBash, UserBash};
use haft_core::sanitize::{sanitize, strip_hidden_chars};
use haft_core::truncate::{self, TruncationLimits};
use haft_protocol::ext::{InterceptUserBash, UserBashDecision, UserBashResult};
use tokio_util::sync::CancellationToken;

use super::reason_or_default;
use crate::agent::managed_extension::{InterceptFailure, ManagedExtension};
use crate::agent::policy::FailureEffect;

#[async_trait]
impl OnUserBash for ManagedExtension {
    async fn on_user_bash(&self, cancel: &CancellationToken, bash: &UserBash) -> BashDecision {
        let UserBash { command, cwd, excluded, .. } = bash.clone();
        match self.query(cancel, InterceptUserBash { command, cwd, excluded }).await {
            Ok(UserBashDecision::Run) | Err(InterceptFailure { verdict: FailureEffect::Pass, .. }) => {
                BashDecision::Run
            }
            Ok(UserBashDecision::Rewrite { command }) => rewrite_command(self, &command),
            Ok(UserBashDecision::Answer(UserBashResult { output, exit_code })) => {
                let output = strip_text(self, &output, "the output of a command");
                let output = truncate::tail(&sanitize(&output), TruncationLimits::default()).text.to_owned();
                BashDecision::Answer { output, exit_code }
            }
            Ok(UserBashDecision::Block { reason }) => {
                BashDecision::Block { reason: reason_or_default(reason, || "no reason given".to_owned()) }
            }
            Err(InterceptFailure { verdict: FailureEffect::Block, reason, .. }) => {
                BashDecision::Block { reason }
            }
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

/// Returns the decision about a changed command. The person would not see an invisible character, so the command
/// must have none.
fn rewrite_command(entry: &ManagedExtension, command: &str) -> BashDecision {
    if strip_hidden_chars(command).hidden == 0 {
        return BashDecision::Rewrite { command: command.to_owned() };
    }
    let reason = "the new command has invisible characters".to_owned();
    entry.report_hook_error(&format!("user_bash intercept: {reason}; the command was blocked"));
    BashDecision::Block { reason }
}

fn strip_text(entry: &ManagedExtension, text: &str, what: &str) -> String {
    let read = strip_hidden_chars(text);
    if let Some(extension) = entry.handle() {
        extension.reporter().report_hidden_text(read.hidden, what);
    }
    read.text.into_owned()
}
