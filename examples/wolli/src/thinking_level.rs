//! The thinking level in the status line, and a command that raises it.

use haft_sdk::protocol::thinking::ThinkingLevel;
use haft_sdk::{Extension, Host, HostError, MirrorPart, Response, SessionEvent};
use serde::Deserialize;

#[derive(Deserialize)]
struct ChangedLevel {
    level: ThinkingLevel,
}

pub(crate) fn build() -> Extension {
    Extension::new("thinking_level", "1.0.0")
        .mirror_session([MirrorPart::Thinking])
        .on_session_event("thinking_changed", |event: SessionEvent, host: Host| async move {
            let ChangedLevel { level } = event.read()?;
            host.set_status("thinking", format!("thinking: {level}"));
            Ok::<_, serde_json::Error>(())
        })
        .command("think", "Think hard.", |_, host: Host| async move {
            let before = host.session_mirror().state().thinking.unwrap_or_default();
            host.session().set_thinking(ThinkingLevel::High).await?;
            Ok::<_, HostError>(Response::display(format!("{before} -> high")))
        })
}
