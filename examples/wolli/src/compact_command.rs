//! A command that compacts the conversation, and a note when that is done.

use haft_sdk::{Extension, Host, HostError, NoteLevel, Response, SessionEvent};
use serde::Deserialize;

#[derive(Deserialize)]
struct EndedCompaction {
    error: Option<String>,
}

pub(crate) fn build() -> Extension {
    Extension::new("compact_command", "1.0.0")
        .command("shrink", "Compact the conversation.", |_, host: Host| async move {
            host.session().compact(Some("Focus on recent changes".to_owned())).await?;
            Ok::<_, HostError>(Response::Noop)
        })
        .on_session_event("compaction_end", |event: SessionEvent, host: Host| async move {
            match event.read::<EndedCompaction>()?.error {
                None => host.notify(NoteLevel::Success, "Compaction completed"),
                Some(error) => host.notify(NoteLevel::Error, format!("Compaction failed: {error}")),
            }
            Ok::<_, serde_json::Error>(())
        })
}
