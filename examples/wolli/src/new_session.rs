//! A command that continues the work in a new session.

use haft_sdk::protocol::rpc::SendMessage;
use haft_sdk::{Extension, Host, HostError, Response};

async fn hand_off(host: &Host) -> Result<(), HostError> {
    let id = host.session().new_session().await?.session;
    let session = host.session().with_id(id);
    session.send_message(SendMessage::new("handoff", "Context from the previous session")).await?;
    session.prompt("Continue in the replacement session").await
}

pub(crate) fn build() -> Extension {
    Extension::new("new_session", "1.0.0").command(
        "handoff",
        "Continue in a new session.",
        |_, host: Host| async move {
            tokio::spawn(async move { hand_off(&host).await.unwrap_or_else(|error| host.log(error)) });
            Response::Noop
        },
    )
}
