//! `haft session list`.

use std::time::SystemTime;

use haft_core::sanitize::sanitize_line;
use haft_core::session::store::SessionFile;
use serde_json::{Value, json};

use super::find::SessionFinder;
use super::text::{SessionRow, heading, id_digits};
use crate::console::{json_line, list_width, note, print, write};

pub(super) fn run(sessions: &SessionFinder, all: bool, json: bool) -> anyhow::Result<()> {
    let rows = session_rows(&if all { sessions.all()? } else { sessions.in_directory()? });
    if json {
        let lines: String = rows.iter().map(|row| json_line(&row_json(row))).collect();
        return write(lines.as_bytes());
    }
    if rows.is_empty() && all {
        note("no sessions yet");
    } else if rows.is_empty() {
        note(&format!("{:#}", sessions.no_session_error()));
    } else if all {
        print(&tables_by_directory(&rows))?;
    } else {
        print(&render_table(&rows, SystemTime::now()))?;
    }
    Ok(())
}

/// Returns the rows. A session that cannot be read is reported in a note and left out.
pub(crate) fn session_rows(found: &[SessionFile]) -> Vec<SessionRow> {
    let read = |found: &SessionFile| {
        SessionRow::from_found(found).inspect_err(|error| note(&format!("haft: {error:#}"))).ok()
    };
    found.iter().filter_map(read).collect()
}

/// Renders a heading and a line for each session.
pub(crate) fn render_table(rows: &[SessionRow], now: SystemTime) -> String {
    let digits = id_digits(rows.iter().map(|row| &row.found));
    let width = list_width();
    let lines = rows.iter().map(|row| row.line(now, digits, width));
    std::iter::once(heading(digits)).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Renders a table for each directory, the one with the latest session first.
fn tables_by_directory(rows: &[SessionRow]) -> String {
    let now = SystemTime::now();
    let mut directories: Vec<&str> = Vec::new();
    for row in rows {
        if !directories.contains(&row.summary.cwd.as_str()) {
            directories.push(&row.summary.cwd);
        }
    }
    let of = |cwd: &str| -> Vec<SessionRow> {
        rows.iter().filter(|row| row.summary.cwd == cwd).cloned().collect()
    };
    let tables =
        directories.iter().map(|cwd| format!("{}\n{}", sanitize_line(cwd), render_table(&of(cwd), now)));
    tables.collect::<Vec<_>>().join("\n\n")
}

pub(super) fn row_json(row: &SessionRow) -> Value {
    let SessionRow { found, summary, .. } = row;
    json!({
        "id": found.id,
        "path": found.path.to_string_lossy(),
        "cwd": summary.cwd,
        "created": summary.created,
        "last": summary.last,
        "name": summary.name,
        "tags": summary.tags,
        "first_text": summary.first_text,
        "messages": summary.messages,
        "usage": summary.usage,
        "forked_from": summary.forked_from,
    })
}
