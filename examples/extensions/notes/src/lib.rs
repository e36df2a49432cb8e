//! Example extension `notes`: reads and writes a file of the project through the host.

use haft_sdk::{Extension, Host, HostError, Response, ToolResult};

/// The file of the notes, in the working directory of the agent.
const FILE: &str = "NOTES.md";

/// The number of attempts to add a note if others change the file first.
const TRIES: usize = 3;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    /// The line to add.
    text: String,
}

/// The extension: the tool `note` adds a line to `NOTES.md`, `/notes` shows the file, `/notes TEXT` adds to it.
pub fn extension() -> Extension {
    Extension::new("notes", "1.0.0")
        .tool("note", "Add a line to the notes of this project.", |note: Note, host| async move {
            match add(&host, &note.text).await {
                Ok(()) => ToolResult::text("noted"),
                Err(error) => ToolResult::error(error.to_string()),
            }
        })
        .command("notes", "show the notes, or add TEXT", notes)
}

async fn notes(text: String, host: Host) -> Response {
    let done = match text.trim() {
        "" => notes_so_far(&host).await,
        text => add(&host, text).await.map(|()| "noted".to_owned()),
    };
    match done {
        Ok(text) if text.is_empty() => Response::display("no notes yet"),
        Ok(text) => Response::display(text),
        Err(error) => Response::error(error.to_string()),
    }
}

/// Adds a line. If the file has changed since the last read, it is read again.
async fn add(host: &Host, text: &str) -> Result<(), HostError> {
    for _ in 1..TRIES {
        match add_once(host, text).await {
            Err(HostError::Stale { .. }) => {}
            done => return done,
        }
    }
    add_once(host, text).await
}

async fn add_once(host: &Host, text: &str) -> Result<(), HostError> {
    let mut page = notes_so_far(host).await?;
    if !page.is_empty() && !page.ends_with('\n') {
        page.push('\n');
    }
    host.write(FILE, format!("{page}* {text}\n")).await
}

/// Returns the whole file, of any length.
async fn notes_so_far(host: &Host) -> Result<String, HostError> {
    let mut page = match host.read(FILE).await {
        Err(HostError::NotFound { .. }) => return Ok(String::new()),
        page => page?,
    };
    let mut text = page.text;
    while let Some(line) = page.next_line {
        page = host.read_from(FILE, line).await?;
        text.push_str(&page.text);
    }
    Ok(text)
}
