//! A question that the extension withdraws.

use std::time::Duration;

use haft_sdk::{Extension, Host, HostError, Response};

pub(crate) fn build() -> Extension {
    Extension::new("dismissed_dialog", "1.0.0").command(
        "offer",
        "Ask, and withdraw the question.",
        |_, host: Host| async move {
            let ui = host.ui();
            let question = ui.confirm("Confirm?", "This dialog disappears.");
            match tokio::time::timeout(Duration::from_millis(300), question).await {
                Ok(answer) => Ok::<_, HostError>(Response::display(format!("answered: {}", answer?))),
                Err(_) => Ok(Response::display("withdrawn")),
            }
        },
    )
}
