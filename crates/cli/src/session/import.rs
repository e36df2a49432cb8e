//! `haft session import`: imports a session of another user or program.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context as _, ensure};
use haft_core::sanitize::sanitize_line;
use haft_core::session::store::{SessionFile, SessionStore};
use haft_export::{ImportLimits, ImportProblem, ImportedSession, import_session};

use crate::args::ImportArgs;
use crate::console::{confirm_at_terminal, note, print};
use crate::zot::ZotFiles;

/// The maximum number of problems that are listed.
const TOLD: usize = 10;

pub(super) fn run(store: &SessionStore, cwd: &Path, args: &ImportArgs) -> anyhow::Result<()> {
    match &args.file {
        Some(file) => import_file(store, cwd, file, args.name.as_deref()),
        None => import_zot_sessions(store, cwd, args.yes),
    }
}

fn import_file(store: &SessionStore, cwd: &Path, path: &Path, name: Option<&str>) -> anyhow::Result<()> {
    let dir =
        cwd.canonicalize().with_context(|| format!("the directory {} does not exist", cwd.display()))?;
    let limits = ImportLimits::default();
    let shown = path.display();
    let bytes = match path.as_os_str() == "-" {
        true => read_up_to(io::stdin().lock(), limits.bytes),
        false => File::open(path).and_then(|file| read_up_to(file, limits.bytes)),
    };
    let bytes = bytes.with_context(|| format!("cannot read {shown}"))?;
    let mut imported = import_session(&bytes, &dir.to_string_lossy(), &limits)
        .with_context(|| format!("cannot import {shown}"))?;
    drop(bytes);
    if let Some(name) = name {
        imported.set_name(name);
    }
    let ImportedSession { format, header, entries, problems } = imported;
    store.write(&header, &entries)?;
    print_problems(&problems);
    let count = entries.len();
    note(&format!(
        "imported a session of {format} with {count} {}",
        if count == 1 { "entry" } else { "entries" }
    ));
    print(&header.id.to_string())
}

/// Imports the sessions of zot that haft lacks, each into the directory that it belongs to.
fn import_zot_sessions(store: &SessionStore, cwd: &Path, yes: bool) -> anyhow::Result<()> {
    let found = ZotFiles::find(cwd);
    ensure!(
        !found.sessions.is_empty(),
        "no sessions of zot found; name a FILE, or set ZOT_HOME to zot's home"
    );
    let home = found.home.unwrap_or_default();
    print(&format!("{} sessions below {}", found.sessions.len(), home.display()))?;
    if !yes && !confirm_at_terminal("import those that haft lacks?")? {
        note("nothing was imported");
        return Ok(());
    }
    let (mut imported, mut known) = (0, 0);
    for path in &found.sessions {
        match import_zot_session(store, path) {
            Ok(true) => imported += 1,
            Ok(false) => known += 1,
            Err(error) => note(&sanitize_line(&format!("haft: {}: {error:#}", path.display()))),
        }
    }
    note(&format!("imported {imported} sessions; {known} were imported before"));
    Ok(())
}

/// Imports a session; false if its directory has an imported session that began at the same time.
fn import_zot_session(store: &SessionStore, path: &Path) -> anyhow::Result<bool> {
    let limits = ImportLimits::default();
    let bytes = read_up_to(File::open(path)?, limits.bytes)?;
    let dir = zot_directory(&bytes).context("the session does not name its directory")?;
    let imported = import_session(&bytes, &dir, &limits)?;
    let created = &imported.header.created;
    let is_known = |session: &SessionFile| session.summary().is_ok_and(|summary| summary.created == *created);
    if store.list(Path::new(&dir))?.iter().any(is_known) {
        return Ok(false);
    }
    store.write(&imported.header, &imported.entries)?;
    Ok(true)
}

/// Returns the absolute directory of a session of zot, which its first line names.
fn zot_directory(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let meta: serde_json::Value = serde_json::from_slice(line).ok()?;
    let dir = meta["meta"]["cwd"].as_str()?;
    Path::new(dir).is_absolute().then(|| dir.to_owned())
}

/// Reads at most one byte beyond the limit, so that longer input is detected.
fn read_up_to(from: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn print_problems(problems: &[ImportProblem]) {
    for problem in problems.iter().take(TOLD) {
        note(&sanitize_line(&problem.to_string()));
    }
    if let more @ 1.. = problems.len().saturating_sub(TOLD) {
        note(&format!("and {more} more problems"));
    }
}
