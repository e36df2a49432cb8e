//! Example extension `hello`: two slash commands.

use haft_sdk::{Extension, Host, NoteLevel, Response};

/// The extension: `/hello` asks the agent to greet someone, `/summon` inserts a name into the
/// editor.
pub fn extension() -> Extension {
    Extension::new("hello", "1.0.0")
        .command("hello", "have the agent greet you, or NAME", |name, _host| async move { greet(&name) })
        .command("summon", "put @NAME into the editor", summon)
}

fn greet(name: &str) -> Response {
    let whom = if name.is_empty() { "me" } else { name };
    Response::prompt(format!("Greet {whom} in one short sentence."))
}

async fn summon(name: String, host: Host) -> Response {
    if name.is_empty() {
        return Response::error("whom? Type /summon NAME");
    }
    host.notify(NoteLevel::Success, format!("{name} is on the way"));
    Response::insert(format!("@{name}, "))
}
