//! A command that waits for the end of the run before it changes the session.

use haft_sdk::{Extension, Host, HostError, NoteLevel, Response};

async fn rename_later(host: &Host) -> Result<(), HostError> {
    host.session().wait_idle().await?;
    host.session().set_name("renamed").await?;
    host.notify(NoteLevel::Success, "renamed");
    Ok(())
}

pub(crate) fn build() -> Extension {
    Extension::new("wait_idle", "1.0.0").command(
        "rename",
        "Rename the session.",
        |_, host: Host| async move {
            tokio::spawn(async move { rename_later(&host).await.unwrap_or_else(|error| host.log(error)) });
            Response::Noop
        },
    )
}
