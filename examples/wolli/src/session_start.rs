//! A note about each session: its file, and why it starts.

use haft_sdk::{Extension, InterceptSessionStart, NoteLevel};

pub(crate) fn build() -> Extension {
    Extension::new("session_start", "1.0.0").wait_session_start(
        |start: InterceptSessionStart, host| async move {
            let file = start.session_path.as_deref().unwrap_or("ephemeral");
            host.notify(NoteLevel::Info, format!("Session: {file} ({})", start.reason));
        },
    )
}
