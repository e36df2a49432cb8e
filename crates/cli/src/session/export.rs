//! `haft session export`: a session for others.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use haft_core::sanitize::sanitize_line;
use haft_core::session::store::read;
use haft_core::session::{Recovered, recover};
use haft_export::{Places, Selection, page, portable};

use crate::args::ExportArgs;
use crate::console::{self, note};
use crate::session::find::entry;

pub(super) fn run(path: &Path, args: &ExportArgs) -> anyhow::Result<()> {
    let session = readable(path)?;
    for repair in &session.repairs {
        note(&sanitize_line(&repair.to_string()));
    }
    let ids = session.entries.iter().map(|entry| entry.id);
    let at = args.at.as_deref().map(|at| entry(ids, at)).transpose()?;
    let form = if args.html { Form::Page } else { Form::Lines };
    let (bytes, extension) = exported(&session, &Selection { at, all: args.all_branches }, form)?;
    match &args.output {
        Some(file) if file.as_os_str() == "-" => console::write(&bytes),
        Some(file) => {
            let same = |file: &Path| fs::canonicalize(file).ok();
            anyhow::ensure!(
                same(file).is_none() || same(file) != same(path),
                "{} is the session itself; write to another file",
                file.display()
            );
            fs::write(file, &bytes).with_context(|| format!("cannot write {}", file.display()))?;
            written(file);
            Ok(())
        }
        None if io::stdout().is_terminal() => new_file(&session, extension, &bytes),
        None => console::write(&bytes),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Lines,
    Page,
}

fn readable(path: &Path) -> anyhow::Result<Recovered> {
    let session = read(path)?;
    anyhow::ensure!(
        session.header.is_some() || !session.entries.is_empty(),
        "{} is no session of haft",
        path.display()
    );
    Ok(session)
}

fn exported(
    session: &Recovered,
    selection: &Selection,
    form: Form,
) -> anyhow::Result<(Vec<u8>, &'static str)> {
    let places = Places { home: std::env::home_dir().map(|home| home.to_string_lossy().into_owned()) };
    Ok(match form {
        Form::Page => {
            // The page shows what a file for others would hold.
            let whole = portable(session, &Selection { at: None, all: true }, &places)?;
            (page(&recover(&whole), selection)?.into_bytes(), "html")
        }
        Form::Lines => (portable(session, selection, &places)?, "jsonl"),
    })
}

/// Exports the session in a file into another one: a page where that is called so or not named at all, lines otherwise. No
/// file is written over. Where it is now.
pub(crate) fn into_file(path: &Path, to: Option<&str>, dir: &Path) -> anyhow::Result<PathBuf> {
    let session = readable(path)?;
    let is_page = to.is_none_or(|to| {
        let end = Path::new(to).extension().unwrap_or_default();
        end.eq_ignore_ascii_case("html") || end.eq_ignore_ascii_case("htm")
    });
    let form = if is_page { Form::Page } else { Form::Lines };
    let (bytes, extension) = exported(&session, &Selection { at: None, all: false }, form)?;
    let file = dir.join(to.map_or_else(|| default_name(&session, extension), str::to_owned));
    made(&file, "name another file", &bytes)?;
    Ok(file)
}

fn default_name(session: &Recovered, extension: &str) -> String {
    let id = session.header.as_ref().map(|header| header.id.to_string()).unwrap_or_default();
    format!("haft-{}.{extension}", id.get(..8).unwrap_or("session"))
}

/// Writes a file that is not there yet.
fn made(file: &Path, else_what: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let mut made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .with_context(|| format!("cannot make {}; {else_what}", file.display()))?;
    made.write_all(bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// A file of its own in the current directory, so that a terminal is not filled with it.
fn new_file(session: &Recovered, extension: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let file = PathBuf::from(default_name(session, extension));
    made(&file, "name another file with -o", bytes)?;
    written(&file);
    Ok(())
}

fn written(file: &Path) {
    note(&sanitize_line(&format!("written to {}; read it before you give it away", file.display())));
}
