//! The name of the session.

use haft_sdk::{Extension, Host, HostError, MirrorPart, Response};

pub(crate) fn build() -> Extension {
    Extension::new("session_name", "1.0.0").mirror_session([MirrorPart::Name]).command(
        "title",
        "Name the session.",
        |name, host: Host| async move {
            host.session().set_name(name).await?;
            let name = host.session_mirror().state().name.clone().unwrap_or_default();
            Ok::<_, HostError>(Response::display(format!("Session: {name}")))
        },
    )
}
