//! `haft session list`.

use std::time::SystemTime;

use haft_core::sanitize::sanitize_line;
use haft_core::session::store::Found;
use serde_json::{Value, json};

use super::find::Sessions;
use super::text::{Row, digits, heading};
use crate::console::{columns, note, print, write};

pub(super) fn run(sessions: &Sessions, all: bool, json: bool) -> anyhow::Result<()> {
    let rows = rows(&if all { sessions.all()? } else { sessions.here()? });
    if json {
        let lines: String = rows.iter().map(|row| format!("{}\n", of_json(row))).collect();
        return write(lines.as_bytes());
    }
    if rows.is_empty() && all {
        note("no sessions yet");
    } else if rows.is_empty() {
        note(&format!("{:#}", sessions.none()));
    } else if all {
        print(&by_directory(&rows))?;
    } else {
        print(&table(&rows, SystemTime::now()))?;
    }
    Ok(())
}

/// Returns the row of each. One that cannot be read is told of in a note, and left out.
pub(crate) fn rows(found: &[Found]) -> Vec<Row> {
    let read = |found: &Found| Row::of(found).inspect_err(|error| note(&format!("haft: {error:#}"))).ok();
    found.iter().filter_map(read).collect()
}

/// A heading, and a line for each.
pub(crate) fn table(rows: &[Row], now: SystemTime) -> String {
    let digits = digits(rows.iter().map(|row| &row.found));
    let width = columns();
    let lines = rows.iter().map(|row| row.line(now, digits, width));
    std::iter::once(heading(digits)).chain(lines).collect::<Vec<_>>().join("\n")
}

/// A table for each directory, that of the latest session first.
fn by_directory(rows: &[Row]) -> String {
    let now = SystemTime::now();
    let mut directories: Vec<&str> = Vec::new();
    for row in rows {
        if !directories.contains(&row.summary.cwd.as_str()) {
            directories.push(&row.summary.cwd);
        }
    }
    let of = |cwd: &str| -> Vec<Row> { rows.iter().filter(|row| row.summary.cwd == cwd).cloned().collect() };
    let tables = directories.iter().map(|cwd| format!("{}\n{}", sanitize_line(cwd), table(&of(cwd), now)));
    tables.collect::<Vec<_>>().join("\n\n")
}

pub(super) fn of_json(row: &Row) -> Value {
    let Row { found, summary, .. } = row;
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
