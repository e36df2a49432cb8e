//! `haft session import`: imports a session of another user or program.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;
use haft_core::sanitize::sanitize_line;
use haft_core::session::store::SessionStore;
use haft_export::{ImportLimits, ImportProblem, ImportedSession, import_session};

use crate::args::ImportArgs;
use crate::console::{self, note};

/// The maximum number of problems that are listed.
const TOLD: usize = 10;

pub(super) fn run(store: &SessionStore, cwd: &Path, args: &ImportArgs) -> anyhow::Result<()> {
    let dir =
        cwd.canonicalize().with_context(|| format!("the directory {} does not exist", cwd.display()))?;
    let limits = ImportLimits::default();
    let shown = args.file.display();
    let bytes = match args.file.as_os_str() == "-" {
        true => read_up_to(io::stdin().lock(), limits.bytes),
        false => File::open(&args.file).and_then(|file| read_up_to(file, limits.bytes)),
    };
    let bytes = bytes.with_context(|| format!("cannot read {shown}"))?;
    let mut imported = import_session(&bytes, &dir.to_string_lossy(), &limits)
        .with_context(|| format!("cannot import {shown}"))?;
    drop(bytes);
    if let Some(name) = &args.name {
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
    console::print(&header.id.to_string())
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
