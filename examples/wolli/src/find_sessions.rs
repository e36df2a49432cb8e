//! A message of an external chat, which goes to the session of this chat.

use haft_sdk::{Extension, Host, HostError, Response};

async fn deliver(chat: &str, text: &str, host: &Host) -> Result<(), HostError> {
    let session = host.session();
    let found = session.find_sessions([("telegram:chat", Some(chat))]).await?.sessions;
    let id = match found.into_iter().next() {
        Some(bound) => session.with_id(bound.session).switch_session().await?.session,
        None => session.new_session().await?.session,
    };
    let session = host.session().with_id(id);
    session.set_tags([("telegram:chat", Some(chat))]).await?;
    session.prompt(text).await
}

pub(crate) fn build() -> Extension {
    Extension::new("find_sessions", "1.0.0").command(
        "chat",
        "Deliver a message: CHAT TEXT.",
        |args, host: Host| async move {
            tokio::spawn(async move {
                let (chat, text) = args.split_once(' ').unwrap_or((&args, "Hello"));
                deliver(chat, text, &host).await.unwrap_or_else(|error| host.log(error));
            });
            Response::Noop
        },
    )
}
