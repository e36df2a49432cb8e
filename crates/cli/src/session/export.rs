//! `haft session export`: writes a session for others.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use haft_core::sanitize::sanitize_line;
use haft_core::session::store::read;
use haft_core::session::{RecoveredSession, recover};
use haft_export::{EntrySelection, SenderDirectories, export_portable, render_page};

use crate::args::ExportArgs;
use crate::console::{self, note};
use crate::session::find::find_entry;

pub(super) fn run(path: &Path, args: &ExportArgs) -> anyhow::Result<()> {
    let session = read_session(path)?;
    for repair in &session.repairs {
        note(&sanitize_line(&repair.to_string()));
    }
    let ids = session.entries.iter().map(|entry| entry.id);
    let at = args.at.as_deref().map(|at| find_entry(ids, at)).transpose()?;
    let form = if args.html { ExportFormat::Page } else { ExportFormat::Lines };
    let (bytes, extension) = export_bytes(&session, &EntrySelection { at, all: args.all_branches }, form)?;
    match &args.output {
        Some(file) if file.as_os_str() == "-" => console::write(&bytes),
        Some(file) => {
            let same = |file: &Path| fs::canonicalize(file).ok();
            anyhow::ensure!(
                same(file).is_none() || same(file) != same(path),
                "{} is the file of the session; write to another file",
                file.display()
            );
            fs::write(file, &bytes).with_context(|| format!("cannot write {}", file.display()))?;
            note_written(file);
            Ok(())
        }
        None if io::stdout().is_terminal() => new_file(&session, extension, &bytes),
        None => console::write(&bytes),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExportFormat {
    Lines,
    Page,
}

fn read_session(path: &Path) -> anyhow::Result<RecoveredSession> {
    let session = read(path)?;
    anyhow::ensure!(
        session.header.is_some() || !session.entries.is_empty(),
        "{} is not a haft session",
        path.display()
    );
    Ok(session)
}

fn export_bytes(
    session: &RecoveredSession,
    selection: &EntrySelection,
    form: ExportFormat,
) -> anyhow::Result<(Vec<u8>, &'static str)> {
    let places =
        SenderDirectories { home: std::env::home_dir().map(|home| home.to_string_lossy().into_owned()) };
    Ok(match form {
        ExportFormat::Page => {
            // The page contains the same data as an exported file.
            let whole = export_portable(session, &EntrySelection { at: None, all: true }, &places)?;
            (render_page(&recover(&whole), selection)?.into_bytes(), "html")
        }
        ExportFormat::Lines => {
            (console::escape_json_lines(&export_portable(session, selection, &places)?), "jsonl")
        }
    })
}

/// Exports a session file to another file, and returns its path. The format is HTML for `.html` names and without a
/// name, JSON lines otherwise. Existing files are never overwritten.
pub(crate) fn export_to_file(path: &Path, to: Option<&str>, dir: &Path) -> anyhow::Result<PathBuf> {
    let session = read_session(path)?;
    let is_page = to.is_none_or(|to| {
        let end = Path::new(to).extension().unwrap_or_default();
        end.eq_ignore_ascii_case("html") || end.eq_ignore_ascii_case("htm")
    });
    let form = if is_page { ExportFormat::Page } else { ExportFormat::Lines };
    let (bytes, extension) = export_bytes(&session, &EntrySelection { at: None, all: false }, form)?;
    let file = dir.join(to.map_or_else(|| default_name(&session, extension), str::to_owned));
    create_file(&file, "choose another file", &bytes)?;
    Ok(file)
}

fn default_name(session: &RecoveredSession, extension: &str) -> String {
    let id = session.header.as_ref().map(|header| header.id.to_string()).unwrap_or_default();
    format!("haft-{}.{extension}", id.get(..8).unwrap_or("session"))
}

/// Creates a new file; fails if it exists.
fn create_file(file: &Path, else_what: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let mut made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .with_context(|| format!("cannot create {}; {else_what}", file.display()))?;
    made.write_all(bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Writes a new file in the current directory, so that the output does not fill the terminal.
fn new_file(session: &RecoveredSession, extension: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let file = PathBuf::from(default_name(session, extension));
    create_file(&file, "choose another file with -o", bytes)?;
    note_written(&file);
    Ok(())
}

fn note_written(file: &Path) {
    note(&sanitize_line(&format!("written to {}; review the file before you share it", file.display())));
}
