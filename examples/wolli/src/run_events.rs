//! Notes about the beginning and the end of a run and of its turns.

use haft_sdk::{Extension, NoteLevel, SessionEvent};
use serde::Deserialize;

#[derive(Deserialize)]
struct StartedTurn {
    step: u32,
}

#[derive(Deserialize)]
struct EndedTurn {
    stop: String,
}

pub(crate) fn build() -> Extension {
    Extension::new("run_events", "1.0.0")
        .on_session_event("agent_start", |_, host| async move { host.notify(NoteLevel::Info, "start") })
        .on_session_event("turn_start", |event: SessionEvent, host| async move {
            let StartedTurn { step } = event.read()?;
            host.notify(NoteLevel::Info, format!("turn {step}"));
            Ok::<_, serde_json::Error>(())
        })
        .on_session_event("turn_end", |event: SessionEvent, host| async move {
            let EndedTurn { stop } = event.read()?;
            host.notify(NoteLevel::Info, format!("turn ended: {stop}"));
            Ok::<_, serde_json::Error>(())
        })
        .on_session_event("done", |_, host| async move { host.notify(NoteLevel::Success, "end") })
}
