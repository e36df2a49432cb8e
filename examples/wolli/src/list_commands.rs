//! The commands of extensions.

use haft_sdk::{Extension, Host, HostError, Response};

pub(crate) fn build() -> Extension {
    Extension::new("list_commands", "1.0.0").command(
        "commands",
        "List the commands of extensions.",
        |_, host: Host| async move {
            let commands = host.session().list_commands().await?.commands.into_iter();
            let lines =
                commands.filter_map(|command| Some(format!("/{} of {}", command.name, command.extension?)));
            Ok::<_, HostError>(Response::display(lines.collect::<Vec<_>>().join("\n")))
        },
    )
}
