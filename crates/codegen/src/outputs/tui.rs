//! The generated parts of `docs/tui.md`: commands, settings and keys, from the program's own tables.

use anyhow::Result;
use haft_tui::app::{commands, settings};
use haft_tui::keys;

use super::GeneratedFile;
use super::docs::replace;
use xtask::repo;

const PATH: &str = "docs/tui.md";

/// Returns the document with new generated parts.
pub(super) fn output() -> Result<GeneratedFile> {
    let mut text = repo::read(PATH)?;
    let parts =
        [("commands", commands::markdown()), ("settings", settings::markdown()), ("keys", keys::markdown())];
    for (name, table) in parts {
        let begin = format!("<!-- generated: {name} -->");
        replace(&mut text, &begin, "<!-- /generated -->", &format!("\n\n{}\n\n", table.trim_end()))?;
    }
    Ok(GeneratedFile { path: PATH, text })
}
