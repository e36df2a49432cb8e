//! All questions to the person.

use haft_sdk::{Extension, Host, HostError, NoteLevel, Response};

pub(crate) fn build() -> Extension {
    Extension::new("dialogs", "1.0.0").command("wizard", "Ask four questions.", |_, host: Host| async move {
        let ui = host.ui();
        let choice = ui.select("Pick one:", ["A", "B", "C"]).await?.unwrap_or_default();
        let ok = ui.confirm("Delete?", "This cannot be undone").await?;
        let name = ui.input("Name:").await?.unwrap_or_default();
        let text = ui.editor("Edit:", "prefilled text").await?.unwrap_or_default();
        host.notify(NoteLevel::Info, "Done!");
        Ok::<_, HostError>(Response::display(format!("{choice} {ok} {name} {text}")))
    })
}
