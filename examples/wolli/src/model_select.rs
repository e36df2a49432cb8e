//! A note about each change of the model.

use std::sync::{Arc, Mutex, PoisonError};

use haft_sdk::{Extension, Host, NoteLevel, SessionEvent};
use serde::Deserialize;

#[derive(Deserialize)]
struct ChangedModel {
    model: String,
}

pub(crate) fn build() -> Extension {
    let current = Arc::new(Mutex::new(None));
    Extension::new("model_select", "1.0.0").on_session_event(
        "model_changed",
        move |event: SessionEvent, host: Host| {
            let current = current.clone();
            async move {
                let ChangedModel { model } = event.read()?;
                let info = host.info().await;
                let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
                let first = format!("{}/{}", info.provider, info.model);
                let previous = current.replace(model.clone()).unwrap_or(first);
                host.notify(NoteLevel::Info, format!("Model changed: {previous} -> {model}"));
                Ok::<_, serde_json::Error>(())
            }
        },
    )
}
