//! Tags of the session.

use haft_sdk::{Extension, Host, HostError, MirrorPart, Response};

pub(crate) fn build() -> Extension {
    Extension::new("session_tags", "1.0.0").mirror_session([MirrorPart::Tags]).command(
        "bind",
        "Bind the session to a chat.",
        |chat, host: Host| async move {
            host.session().set_tags([("telegram:chat", Some(chat.as_str()))]).await?;
            let state = host.session_mirror().state();
            let chat = state.tags.as_ref().and_then(|tags| tags.get("telegram:chat"));
            Ok::<_, HostError>(Response::display(format!("chat {}", chat.map_or("none", String::as_str))))
        },
    )
}
