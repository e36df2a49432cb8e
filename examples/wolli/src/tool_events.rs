//! Notes about each tool: its start, its output and its end.

use haft_sdk::{Extension, NoteLevel, SessionEvent};
use serde::Deserialize;

#[derive(Deserialize)]
struct RunningTool {
    name: String,
}

#[derive(Deserialize)]
struct ToolOutput {
    text: String,
}

pub(crate) fn build() -> Extension {
    Extension::new("tool_events", "1.0.0")
        .on_session_event("tool_start", |event: SessionEvent, host| async move {
            let RunningTool { name } = event.read()?;
            host.notify(NoteLevel::Info, format!("{name} starts"));
            Ok::<_, serde_json::Error>(())
        })
        .on_session_event("tool_progress", |event: SessionEvent, host| async move {
            let ToolOutput { text } = event.read()?;
            host.notify(NoteLevel::Info, format!("output: {}", text.trim()));
            Ok::<_, serde_json::Error>(())
        })
        .on_session_event("tool_end", |event: SessionEvent, host| async move {
            let RunningTool { name } = event.read()?;
            host.notify(NoteLevel::Info, format!("{name} ends"));
            Ok::<_, serde_json::Error>(())
        })
}
