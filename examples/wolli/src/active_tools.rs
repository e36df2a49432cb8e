//! A command that leaves the model two tools.

use haft_sdk::{Extension, Host, HostError, MirrorPart, NoArgs, Response, ToolResult};

pub(crate) fn build() -> Extension {
    Extension::new("active_tools", "1.0.0")
        .mirror_session([MirrorPart::Tools])
        .tool("ping", "Answer pong.", |_: NoArgs, _host| async { ToolResult::text("pong") })
        .command("readonly", "Leave the model two tools.", |_, host: Host| async move {
            let before = host.session_mirror().state().tools.clone().unwrap_or_default();
            let own = before.iter().filter(|tool| tool.extension.is_some()).count();
            let tools = ["read", "ls"].map(str::to_owned).to_vec();
            let now = host.session().set_tools(Some(tools)).await?.active;
            let text = format!("{} built in, {own} of extensions; now {}", before.len() - own, now.join(" "));
            Ok::<_, HostError>(Response::display(text))
        })
}
