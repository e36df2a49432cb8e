//! The question whether, and how, the conversation is summed up.

use std::collections::HashSet;

use async_trait::async_trait;
use haft_core::compact::{Compacting, entry_text};
use haft_core::hooks::{BeforeCompact, CompactDecision};
use haft_core::sanitize::for_model;
use haft_core::session::EntryId;
use haft_protocol::ext::{BeforeCompactDecision, CompactEntry, InterceptBeforeCompact};
use tokio_util::sync::CancellationToken;

use super::or_else;
use crate::agent::entry::Entry;

#[async_trait]
impl BeforeCompact for Entry {
    async fn before_compact(&self, cancel: &CancellationToken, compacting: &Compacting) -> CompactDecision {
        let by = self.name().to_string();
        match self.query(cancel, question(compacting)).await {
            Ok(BeforeCompactDecision::Default) | Err(_) => CompactDecision::Default,
            Ok(BeforeCompactDecision::Cancel { reason }) => {
                let reason = or_else(reason, || "no reason given".to_owned());
                CompactDecision::Cancel { by, reason }
            }
            Ok(BeforeCompactDecision::Replace { summary, first_kept }) => {
                let read = for_model(&summary);
                if let Some(extension) = self.extension() {
                    extension.reporter().hidden(read.hidden, "its summary");
                }
                let summary = read.text.into_owned();
                match first_kept.as_deref().map(EntryId::parse) {
                    None => CompactDecision::Replace { by, summary, first_kept: None },
                    Some(Some(first)) => CompactDecision::Replace { by, summary, first_kept: Some(first) },
                    Some(None) => {
                        cannot_begin(self, first_kept.as_deref().unwrap_or_default());
                        CompactDecision::Default
                    }
                }
            }
        }
    }

    fn cut_refused(&self, first_kept: EntryId) {
        cannot_begin(self, &first_kept.to_string());
    }
}

fn cannot_begin(entry: &Entry, first_kept: &str) {
    entry.report_hook_error(&format!(
        "before_compact intercept: nothing can be kept from {first_kept:?} on, so its summary is not used; name an entry \
         that says may_begin, or leave first_kept out"
    ));
}

fn question(compacting: &Compacting) -> InterceptBeforeCompact {
    let points: HashSet<EntryId> = compacting.cut_points().collect();
    let entries = compacting.entries.iter().filter_map(|entry| {
        let (id, may_begin) = (entry.id.to_string(), points.contains(&entry.id));
        Some(CompactEntry { id, text: entry_text(entry)?, may_begin })
    });
    InterceptBeforeCompact {
        reason: compacting.reason,
        instructions: compacting.instructions.clone(),
        tokens_before: compacting.tokens_before,
        window: compacting.window,
        previous_summary: compacting.previous_summary.clone(),
        files_read: compacting.files_read.clone(),
        files_modified: compacting.files_modified.clone(),
        first_kept: compacting.first_kept.map(|id| id.to_string()),
        entries: entries.collect(),
    }
}
