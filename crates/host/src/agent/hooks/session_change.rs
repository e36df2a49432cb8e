//! The hooks before a session changes, for one extension. An extension is not asked about its own commands.

use async_trait::async_trait;
use haft_core::compact::entry_text;
use haft_core::hooks::{
    BeforeFork, BeforeSwitch, BeforeTree, BranchDecision, PendingFork, PendingMove, PendingSwitch,
    SessionChangeDecision,
};
use haft_core::sanitize::strip_hidden_chars;
use haft_protocol::ext::{
    BeforeForkDecision, BeforeSwitchDecision, BeforeTreeDecision, CompactEntry, InterceptBeforeFork,
    InterceptBeforeSwitch, InterceptBeforeTree,
};
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::reason_or_default;
use crate::agent::managed_extension::ManagedExtension;

#[async_trait]
impl BeforeSwitch for ManagedExtension {
    async fn before_switch(
        &self,
        cancel: &CancellationToken,
        switch: &PendingSwitch,
    ) -> SessionChangeDecision {
        if is_own_command(self, switch.caller.as_ref()) {
            return SessionChangeDecision::Continue;
        }
        let PendingSwitch { reason, session, caller, .. } = switch.clone();
        match self.query(cancel, InterceptBeforeSwitch { reason, session, caller }).await {
            Ok(BeforeSwitchDecision::Continue) | Err(_) => SessionChangeDecision::Continue,
            Ok(BeforeSwitchDecision::Block { reason }) => block_change(reason),
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

#[async_trait]
impl BeforeFork for ManagedExtension {
    async fn before_fork(&self, cancel: &CancellationToken, fork: &PendingFork) -> SessionChangeDecision {
        if is_own_command(self, fork.caller.as_ref()) {
            return SessionChangeDecision::Continue;
        }
        let PendingFork { entry, caller, .. } = fork.clone();
        let entry = entry.map(|entry| entry.to_string());
        match self.query(cancel, InterceptBeforeFork { entry, caller }).await {
            Ok(BeforeForkDecision::Continue) | Err(_) => SessionChangeDecision::Continue,
            Ok(BeforeForkDecision::Block { reason }) => block_change(reason),
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

#[async_trait]
impl BeforeTree for ManagedExtension {
    async fn before_tree(&self, cancel: &CancellationToken, pending: &PendingMove) -> BranchDecision {
        if is_own_command(self, pending.caller.as_ref()) {
            return BranchDecision::Continue;
        }
        match self.query(cancel, tree_question(pending)).await {
            Ok(BeforeTreeDecision::Continue) | Err(_) => BranchDecision::Continue,
            Ok(BeforeTreeDecision::Summarize { summary }) => {
                let read = strip_hidden_chars(&summary);
                if let Some(extension) = self.handle() {
                    extension.reporter().report_hidden_text(read.hidden, "the summary");
                }
                BranchDecision::Summarize { text: read.text.into_owned() }
            }
            Ok(BeforeTreeDecision::Block { reason }) => {
                BranchDecision::Block { reason: given_reason(reason) }
            }
        }
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

fn is_own_command(entry: &ManagedExtension, caller: Option<&ExtensionName>) -> bool {
    caller == Some(entry.name())
}

fn block_change(reason: String) -> SessionChangeDecision {
    SessionChangeDecision::Block { reason: given_reason(reason) }
}

fn given_reason(reason: String) -> String {
    reason_or_default(reason, || "no reason given".to_owned())
}

fn tree_question(pending: &PendingMove) -> InterceptBeforeTree {
    let entries = pending.left.iter().filter_map(|entry| {
        Some(CompactEntry { id: entry.id.to_string(), text: entry_text(entry)?, may_begin: false })
    });
    InterceptBeforeTree {
        entry: pending.entry.map(|entry| entry.to_string()),
        leaf: pending.leaf.map(|leaf| leaf.to_string()),
        summarize: pending.summarize,
        instructions: pending.instructions.clone(),
        caller: pending.caller.clone(),
        entries: entries.collect(),
    }
}
