//! A command that reloads the extensions, and a tool that has it run after the answer.

use haft_sdk::{Extension, Host, HostError, NoArgs, NoteLevel, Response, SessionStartReason, ToolResult};

async fn reload_later(host: &Host) -> Result<(), HostError> {
    host.session().wait_idle().await?;
    host.session().run_command("reload-runtime", "").await.map(drop)
}

pub(crate) fn build() -> Extension {
    Extension::new("reload_runtime", "1.0.0")
        .wait_session_start(|start, host| async move {
            if start.reason == SessionStartReason::Reload {
                host.notify(NoteLevel::Success, "reloaded");
            }
        })
        .command("reload-runtime", "Reload the extensions.", |_, host: Host| async move {
            // The result comes to no one: this process ends before it.
            tokio::spawn(async move { host.session().reload_extensions().await.map(drop) });
            Response::Noop
        })
        .tool("reload_runtime", "Reload the extensions.", |_: NoArgs, host: Host| async move {
            tokio::spawn(async move { reload_later(&host).await.unwrap_or_else(|error| host.log(error)) });
            ToolResult::text("Queued /reload-runtime for the end of the run.")
        })
}
