//! Labels of entries.

use haft_sdk::{Extension, Host, HostError, MirrorPart, Response};

pub(crate) fn build() -> Extension {
    Extension::new("entry_labels", "1.0.0").mirror_session([MirrorPart::Entries]).command(
        "checkpoint",
        "Label the last message; without a label, remove its label.",
        |label, host: Host| async move {
            let mirror = host.session_mirror();
            let branch = mirror.current_branch();
            let Some(last) = branch.iter().rfind(|entry| entry.kind == "message") else {
                return Ok(Response::error("there is no message"));
            };
            host.session()
                .set_label(&last.id, Some(label.as_str()).filter(|label| !label.is_empty()))
                .await?;
            let label = mirror.find_label(&last.id).unwrap_or_else(|| "none".to_owned());
            Ok::<_, HostError>(Response::display(format!("label: {label}")))
        },
    )
}
