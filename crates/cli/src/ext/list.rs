//! `haft ext list`: what is there, in which state, and what is wrong with whom.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_config::{Grant, Home, ReadFile, SandboxLevel};
use haft_core::sanitize::sanitize_line;
use haft_host::install::{Row, State, Store};
use haft_host::{LastFailure, Origin, last_failure};
use haft_launch::sandbox::Level;
use haft_protocol::ids::ExtensionName;

use super::hook::{self, OfHook};
use super::problem::{Problem, problems};
use super::{as_json, long, table};
use crate::args::ListArgs;
use crate::console::{note, print as show, rows as rows_of, width as width_of_terminal, write};
use crate::grants::unborne;

/// The columns of a list that goes nowhere near a terminal.
const COLUMNS: usize = 80;

/// An extension, how it failed when it last ran, and what confines it.
pub(crate) struct Listed {
    pub(crate) row: Row,
    pub(crate) failure: Option<LastFailure>,
    /// Whether the project is trusted that it may belong to.
    pub(crate) trusted: bool,
    /// What it runs at, or would run at. Nothing where the user's file cannot be read, which would say so.
    pub(crate) sandbox: Option<SandboxLevel>,
    /// What there is to say of a process hook; none for an extension.
    pub(crate) hook: Option<OfHook>,
}

/// The project that is listed beside what is the user's own.
#[derive(Debug)]
pub(super) struct Seen {
    /// Where the user is.
    pub(super) cwd: PathBuf,
    pub(super) trusted: bool,
    /// Why it is not trusted any more.
    pub(super) told: Option<String>,
}

/// Prints the list on standard output, and below it on standard error what is wrong with whom.
pub(super) fn print(store: &Store, home: &Home, seen: &Seen, args: &ListArgs) -> anyhow::Result<()> {
    let (rows, error) = store.list();
    seen.told.iter().for_each(|told| tell(&format!("haft: {told}")));
    if let Some(error) = error {
        tell(&error.to_string());
    }
    let grants = ReadFile::load(&home.config_file()).map(|file| file.content.grant);
    let state = home.state_dir();
    let look = |(row, hook)| listed(row, hook, &state, seen.trusted, grants.as_ref().ok());
    let hooks = hook::all(home, &seen.cwd).into_iter().map(|(row, hook)| (row, Some(hook)));
    let rows = rows.into_iter().map(|row| (row, None)).chain(hooks);
    let listed: Vec<Listed> = rows.map(look).collect();
    let now = SystemTime::now();
    if args.json {
        let lines: String = listed.iter().map(|listed| as_json::line(listed, now)).collect();
        return write(lines.as_bytes());
    }
    if listed.is_empty() {
        note("no extensions installed; `haft ext install DIR` installs one");
        return Ok(());
    }
    match args.long {
        true => show(&long::text(&listed))?,
        false => {
            let places = table::Places { cwd: seen.cwd.clone(), home: std::env::home_dir() };
            show(&table::text(&listed, &places, width_of_terminal().unwrap_or(COLUMNS)))?;
        }
    }
    // Of those that are not trusted one line is enough.
    let each = listed.iter().filter(|listed| !listed.is_untrusted());
    each.flat_map(|listed| told(listed, now)).for_each(|text| tell(&text));
    tell_more(&listed, &grants, seen);
    Ok(())
}

/// What is wrong with one, each in a line that is safe to be shown.
pub(crate) fn told(listed: &Listed, now: SystemTime) -> Vec<String> {
    let line = |problem: Problem| sanitize_line(&format!("{}: {}", listed.row.name, problem.sentence()));
    problems(listed, now).into_iter().map(line).collect()
}

/// What is to be known of no extension alone.
fn tell_more(
    listed: &[Listed],
    grants: &Result<BTreeMap<String, Grant>, haft_config::ConfigError>,
    seen: &Seen,
) {
    let names = listed.iter().map(|listed| listed.row.name.as_str()).collect();
    let granted = grants.iter().flat_map(BTreeMap::keys).map(String::as_str);
    unborne(granted, &names).iter().for_each(|(text, _)| tell(text));
    if let Err(error) = grants {
        tell(&error.to_string());
    }
    if listed.iter().any(Listed::is_untrusted) && seen.told.is_none() {
        tell("untrusted: the project's extensions do not run; `haft trust` shows and allows them");
    }
}

fn tell(text: &str) {
    note(&rows_of("", "  ", &sanitize_line(text), width_of_terminal()));
}

/// What cannot run now did not fail when it ran.
fn listed(
    row: Row,
    hook: Option<OfHook>,
    state: &Path,
    trusted: bool,
    grants: Option<&BTreeMap<String, Grant>>,
) -> Listed {
    let failure = match &row.state {
        State::Enabled => last_failure(state, &ExtensionName::new(&row.name), &row.runs_in),
        State::Disabled | State::NotApproved | State::Changed(_) | State::Broken(_) => None,
    };
    let own = row.level.map_or(SandboxLevel::None, level);
    let sandbox = grants.map(|grants| grants.get(&row.name).and_then(|grant| grant.sandbox).unwrap_or(own));
    Listed { row, failure, trusted, sandbox, hook }
}

fn level(level: Level) -> SandboxLevel {
    match level {
        Level::Standard => SandboxLevel::Standard,
        Level::Strict => SandboxLevel::Strict,
    }
}

impl Listed {
    /// Its state in a word.
    pub(super) fn word(&self) -> &'static str {
        match (&self.row.state, self.row.origin, &self.failure) {
            (State::Broken(_), _, _) => "broken",
            (State::Disabled, _, _) => "disabled",
            (State::NotApproved, _, _) => "unapproved",
            (State::Changed(_), _, _) => "changed",
            (State::Enabled, _, _) if self.is_untrusted() => "untrusted",
            (State::Enabled, _, Some(_)) => "failed",
            (State::Enabled, _, None) => "enabled",
        }
    }

    /// Whether it would run, if only its project were trusted.
    pub(super) fn is_untrusted(&self) -> bool {
        self.row.state == State::Enabled && self.row.origin == Origin::Project && !self.trusted
    }

    /// Whether a run starts something of it.
    pub(super) fn runs(&self) -> bool {
        self.row.state == State::Enabled && !self.is_untrusted() && self.row.exec.is_some()
    }

    /// Whose it is.
    pub(super) fn scope(&self) -> &'static str {
        match self.row.origin {
            Origin::Explicit | Origin::BuiltIn | Origin::Global | Origin::Hook => "global",
            Origin::Project => "project",
        }
    }
}
