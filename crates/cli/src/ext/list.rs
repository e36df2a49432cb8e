//! The table of `haft ext list`.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use haft_core::sanitize::sanitize_line;
use haft_host::Origin;
use haft_host::install::{Row, State};

use crate::console::{note, print as show, rows as rows_of, width as width_of_terminal};

const HEADER: [&str; 6] = ["NAME", "VERSION", "SCOPE", "STATE", "LANGUAGE", "DIRECTORY"];

/// Prints the table on standard output, and below it on standard error what is wrong with whom.
pub(super) fn print(rows: &[Row]) -> anyhow::Result<()> {
    if rows.is_empty() {
        note("no extensions installed; `haft ext install DIR` installs one");
        return Ok(());
    }
    let home = if io::stdout().is_terminal() { std::env::home_dir() } else { None };
    show(&table(rows, home.as_deref()))?;
    for row in rows {
        if let State::Broken(why) = &row.state {
            let line = sanitize_line(&format!("{}: {why}", row.name));
            note(&rows_of("", "  ", &line, width_of_terminal()));
        }
    }
    if rows.iter().any(|row| state(row) == "untrusted") {
        note("untrusted: the project's extensions run with --trust-project only");
    }
    Ok(())
}

/// Columns as wide as they must be; the directory comes last, so that a long one disturbs nothing. Paths below
/// `home` are shortened to `~`.
pub(crate) fn table(rows: &[Row], home: Option<&Path>) -> String {
    let mut lines = vec![HEADER.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| cells(row, home)));
    let widths: [usize; 6] =
        std::array::from_fn(|column| lines.iter().map(|line| width(&line[column])).max().unwrap_or(0));
    let text: Vec<String> = lines.iter().map(|line| aligned(line, &widths)).collect();
    text.join("\n")
}

fn aligned(line: &[String; 6], widths: &[usize; 6]) -> String {
    let mut text = String::new();
    for (cell, column) in line.iter().zip(widths) {
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', column - width(cell) + 2));
    }
    text.truncate(text.trim_end().len());
    text
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

fn cells(row: &Row, home: Option<&Path>) -> [String; 6] {
    let scope = match row.origin {
        Origin::Explicit | Origin::BuiltIn | Origin::Global => "global",
        Origin::Project => "project",
    };
    let text = |value: &Option<String>| value.as_deref().map_or_else(|| "-".into(), sanitize_line);
    [
        sanitize_line(&row.name),
        text(&row.version),
        scope.into(),
        state(row).into(),
        text(&row.language),
        sanitize_line(&short(&row.dir, home)),
    ]
}

fn state(row: &Row) -> &'static str {
    match (&row.state, row.origin) {
        (State::Broken(_), _) => "broken",
        (State::Disabled, _) => "disabled",
        (State::Enabled, Origin::Project) => "untrusted",
        (State::Enabled, Origin::Explicit | Origin::BuiltIn | Origin::Global) => "enabled",
    }
}

fn short(dir: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| dir.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => dir.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, origin: Origin, state: State, dir: &str) -> Row {
        Row {
            origin,
            name: name.into(),
            version: Some("1.0.0".into()),
            language: None,
            description: None,
            exec: None,
            dir: dir.into(),
            state,
        }
    }

    #[test]
    fn columns_are_aligned_and_nothing_escapes() {
        let rows = [
            Row {
                version: Some("1\x1b[31m.0\n".into()),
                language: Some("go".into()),
                ..row("todo-panel", Origin::Global, State::Enabled, "/u/ext/todo")
            },
            row("off", Origin::Global, State::Disabled, "/srv/off"),
            row("p", Origin::Project, State::Enabled, "/w/.haft/extensions/p"),
            row("b", Origin::Global, State::Broken("why".into()), "/u/ext/b"),
        ];
        insta::assert_snapshot!(table(&rows, Some(Path::new("/u"))), @"
        NAME        VERSION  SCOPE    STATE      LANGUAGE  DIRECTORY
        todo-panel  1.0      global   enabled    go        ~/ext/todo
        off         1.0.0    global   disabled   -         /srv/off
        p           1.0.0    project  untrusted  -         /w/.haft/extensions/p
        b           1.0.0    global   broken     -         ~/ext/b
        ");
    }
}
