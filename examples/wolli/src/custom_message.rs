//! Notes that the model reads, restored from the session at its start.

use haft_sdk::protocol::rpc::SendMessage;
use haft_sdk::{Extension, Host, HostError, MirrorPart, NoteLevel, RawJson, Response};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct NoteEntry {
    kind: String,
    details: NoteDetails,
}

#[derive(Deserialize, Serialize)]
struct NoteDetails {
    note: String,
}

pub(crate) fn build() -> Extension {
    Extension::new("custom_message", "1.0.0")
        .mirror_session([MirrorPart::Entries])
        .wait_session_start(|_, host: Host| async move {
            let branch = host.session_mirror().current_branch();
            let messages = branch.iter().filter(|entry| entry.kind == "custom_message");
            let notes = messages.filter_map(|entry| entry.line.read::<NoteEntry>().ok());
            for note in notes.filter(|note| note.kind == "note") {
                host.notify(NoteLevel::Info, format!("restored: {}", note.details.note));
            }
        })
        .command("note", "Tell the model something.", |text, host: Host| async move {
            let details = RawJson::from_value(&NoteDetails { note: text.clone() }).ok();
            let note = SendMessage { details, turn: true, ..SendMessage::new("note", text) };
            host.session().send_message(note).await?;
            Ok::<_, HostError>(Response::Noop)
        })
}
