//! The table of `haft ext list`.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::SystemTime;

use haft_config::{Grant, Home, ReadFile, SandboxLevel};
use haft_core::sanitize::sanitize_line;
use haft_host::install::{Row, State, Store};
use haft_host::{LastFailure, Origin, last_failure};
use haft_launch::sandbox::Level;
use haft_protocol::ids::ExtensionName;

use crate::console::{note, print as show, rows as rows_of, width as width_of_terminal};
use crate::grants::unborne;
use crate::session::age;

/// An extension, how it failed when it last ran, and what confines it.
pub(crate) struct Listed {
    pub(crate) row: Row,
    pub(crate) failure: Option<LastFailure>,
    /// Whether the project is trusted that it may belong to.
    pub(crate) trusted: bool,
    /// Nothing where the user's file cannot be read, which would say so.
    pub(crate) sandbox: Option<SandboxLevel>,
}

const HEADER: [&str; 7] = ["NAME", "VERSION", "SCOPE", "STATE", "SANDBOX", "LANGUAGE", "DIRECTORY"];

/// Prints the table on standard output, and below it on standard error what is wrong with whom.
pub(super) fn print(store: &Store, home: &Home, trusted: bool) -> anyhow::Result<()> {
    let (rows, error) = store.list();
    if let Some(error) = error {
        note(&rows_of("", "  ", &sanitize_line(&error.to_string()), width_of_terminal()));
    }
    if rows.is_empty() {
        note("no extensions installed; `haft ext install DIR` installs one");
        return Ok(());
    }
    let grants = ReadFile::load(&home.config_file()).map(|file| file.content.grant);
    let state = home.state_dir();
    let look = |row| listed(row, &state, trusted, grants.as_ref().ok());
    let listed: Vec<Listed> = rows.into_iter().map(look).collect();
    let home = if io::stdout().is_terminal() { std::env::home_dir() } else { None };
    show(&table(&listed, home.as_deref()))?;
    let now = SystemTime::now();
    for problem in listed.iter().filter_map(|listed| problem(listed, now)) {
        note(&rows_of("", "  ", &problem, width_of_terminal()));
    }
    let names = listed.iter().map(|listed| listed.row.name.as_str()).collect();
    let granted = grants.iter().flat_map(BTreeMap::keys).map(String::as_str);
    for (text, _) in unborne(granted, &names) {
        note(&rows_of("", "  ", &sanitize_line(&text), width_of_terminal()));
    }
    if let Err(error) = &grants {
        note(&rows_of("", "  ", &sanitize_line(&error.to_string()), width_of_terminal()));
    }
    if listed.iter().any(|listed| word(listed) == "untrusted") {
        note("untrusted: the project's extensions do not run; `haft trust` shows and allows them");
    }
    Ok(())
}

/// What cannot run now did not fail when it ran.
fn listed(row: Row, state: &Path, trusted: bool, grants: Option<&BTreeMap<String, Grant>>) -> Listed {
    let failure = match &row.state {
        State::Enabled => last_failure(state, &ExtensionName::new(&row.name), &row.runs_in),
        State::Disabled | State::NotApproved | State::Changed(_) | State::Broken(_) => None,
    };
    let approved = row.entry.as_ref().and_then(|entry| entry.sandbox).map_or(SandboxLevel::None, level);
    let sandbox =
        grants.map(|grants| grants.get(&row.name).and_then(|grant| grant.sandbox).unwrap_or(approved));
    Listed { row, failure, trusted, sandbox }
}

fn level(level: Level) -> SandboxLevel {
    match level {
        Level::Standard => SandboxLevel::Standard,
        Level::Strict => SandboxLevel::Strict,
    }
}

/// What is wrong with one, in a line: what happened, and what to do.
pub(crate) fn problem(Listed { row, failure, .. }: &Listed, now: SystemTime) -> Option<String> {
    let name = &row.name;
    if row.entry.as_ref().is_some_and(|entry| entry.waiting.is_some()) {
        let text = "is disabled, because its new version asks for more than was granted; `haft ext update";
        return Some(sanitize_line(&format!("{name}: {text} {name}` shows it, and asks")));
    }
    let text = match (&row.state, failure) {
        (State::Broken(why) | State::Changed(why), _) => format!("{name}: {why}"),
        (State::NotApproved, _) => {
            format!(
                "{name}: is not run, because it was not approved; `haft ext trust {name}` shows it, and asks"
            )
        }
        (_, Some(LastFailure { at, code, message })) => format!(
            "{name}: failed {} ({code}): {message}. The next run starts it anew; `haft ext logs {name}` shows all it \
             printed",
            age(now, *at)
        ),
        (State::Enabled | State::Disabled, None) => return None,
    };
    Some(sanitize_line(&text))
}

/// Columns as wide as they must be; the directory comes last, so that a long one disturbs nothing. Paths below
/// `home` are shortened to `~`.
pub(crate) fn table(rows: &[Listed], home: Option<&Path>) -> String {
    let mut lines = vec![HEADER.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| cells(row, home)));
    let widths: [usize; 7] =
        std::array::from_fn(|column| lines.iter().map(|line| width(&line[column])).max().unwrap_or(0));
    let text: Vec<String> = lines.iter().map(|line| aligned(line, &widths)).collect();
    text.join("\n")
}

fn aligned(line: &[String; 7], widths: &[usize; 7]) -> String {
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

fn cells(listed: &Listed, home: Option<&Path>) -> [String; 7] {
    let row = &listed.row;
    let scope = match row.origin {
        Origin::Explicit | Origin::BuiltIn | Origin::Global | Origin::Hook => "global",
        Origin::Project => "project",
    };
    let text = |value: &Option<String>| value.as_deref().map_or_else(|| "-".into(), sanitize_line);
    [
        sanitize_line(&row.name),
        text(&row.version),
        scope.into(),
        word(listed).into(),
        listed.sandbox.map_or("?", SandboxLevel::name).into(),
        text(&row.language),
        sanitize_line(&short(&row.dir, home)),
    ]
}

fn word(Listed { row, failure, trusted, .. }: &Listed) -> &'static str {
    match (&row.state, row.origin, failure) {
        (State::Broken(_), _, _) => "broken",
        (State::Disabled, _, _) => "disabled",
        (State::NotApproved, _, _) => "unapproved",
        (State::Changed(_), _, _) => "changed",
        (State::Enabled, Origin::Project, _) if !trusted => "untrusted",
        (State::Enabled, _, Some(_)) => "failed",
        (State::Enabled, _, None) => "enabled",
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
    use std::time::Duration;

    use super::*;

    fn row(name: &str, origin: Origin, state: State, dir: &str) -> Listed {
        let row = Row {
            origin,
            name: name.into(),
            version: Some("1.0.0".into()),
            language: None,
            description: None,
            exec: None,
            dir: dir.into(),
            runs_in: dir.into(),
            entry: None,
            state,
        };
        Listed { row, failure: None, trusted: false, sandbox: Some(SandboxLevel::None) }
    }

    /// It failed five minutes after the beginning of time.
    fn failed(listed: Listed) -> Listed {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(300);
        let message = "exited with status 1: Name\x1b[31mError: x".into();
        Listed { failure: Some(LastFailure { at, code: "exited".into(), message }), ..listed }
    }

    #[test]
    fn columns_are_aligned_and_nothing_escapes() {
        let mut todo = row("todo-panel", Origin::Global, State::Enabled, "/u/ext/todo");
        (todo.row.version, todo.row.language) = (Some("1\x1b[31m.0\n".into()), Some("go".into()));
        todo.sandbox = Some(SandboxLevel::Standard);
        let mut off = row("off", Origin::Global, State::Disabled, "/srv/off");
        off.sandbox = None;
        let rows = [
            todo,
            off,
            row("p", Origin::Project, State::Enabled, "/w/.haft/extensions/p"),
            row("b", Origin::Global, State::Broken("why".into()), "/u/ext/b"),
            row("c", Origin::Global, State::Changed("run (changed)\x1b[2J".into()), "/u/ext/c"),
            row("n", Origin::Global, State::NotApproved, "/u/ext/n"),
            failed(row("crash", Origin::Global, State::Enabled, "/u/ext/crash")),
            failed(row("q", Origin::Project, State::Enabled, "/w/q")),
        ];
        insta::assert_snapshot!(table(&rows, Some(Path::new("/u"))), @"
        NAME        VERSION  SCOPE    STATE       SANDBOX   LANGUAGE  DIRECTORY
        todo-panel  1.0      global   enabled     standard  go        ~/ext/todo
        off         1.0.0    global   disabled    ?         -         /srv/off
        p           1.0.0    project  untrusted   none      -         /w/.haft/extensions/p
        b           1.0.0    global   broken      none      -         ~/ext/b
        c           1.0.0    global   changed     none      -         ~/ext/c
        n           1.0.0    global   unapproved  none      -         ~/ext/n
        crash       1.0.0    global   failed      none      -         ~/ext/crash
        q           1.0.0    project  untrusted   none      -         /w/q
        ");
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(3 * 3600);
        let problems: Vec<String> = rows.iter().filter_map(|row| problem(row, now)).collect();
        insta::assert_snapshot!(problems.join("\n"), @"
        b: why
        c: run (changed)
        n: is not run, because it was not approved; `haft ext trust n` shows it, and asks
        crash: failed 2 h ago (exited): exited with status 1: NameError: x. The next run starts it anew; `haft ext logs crash` shows all it printed
        q: failed 2 h ago (exited): exited with status 1: NameError: x. The next run starts it anew; `haft ext logs q` shows all it printed
        ");
    }
}
