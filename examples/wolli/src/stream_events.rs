//! The length of each answer while it arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_sdk::{Extension, Host, NoteLevel, SessionEvent};
use serde::Deserialize;

#[derive(Deserialize)]
struct TextDelta {
    delta: String,
}

pub(crate) fn build() -> Extension {
    let length = Arc::new(AtomicUsize::new(0));
    let (started, grown, ended) = (length.clone(), length.clone(), length);
    Extension::new("stream_events", "1.0.0")
        .on_session_event("assistant_start", move |_, _host| {
            started.store(0, Ordering::Relaxed);
            async {}
        })
        .on_session_event("text_delta", move |event: SessionEvent, _host| {
            let length = grown.clone();
            async move {
                let TextDelta { delta } = event.read()?;
                length.fetch_add(delta.chars().count(), Ordering::Relaxed);
                Ok::<_, serde_json::Error>(())
            }
        })
        .on_session_event("assistant_message", move |_, host: Host| {
            let length = ended.load(Ordering::Relaxed);
            async move { host.notify(NoteLevel::Info, format!("{length} characters")) }
        })
}
