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

/// Exports the session in a file.
pub(super) fn run(path: &Path, args: &ExportArgs) -> anyhow::Result<()> {
    let session = read(path)?;
    anyhow::ensure!(
        session.header.is_some() || !session.entries.is_empty(),
        "{} is no session of haft",
        path.display()
    );
    for repair in &session.repairs {
        note(&sanitize_line(&repair.to_string()));
    }
    let ids = session.entries.iter().map(|entry| entry.id);
    let at = args.at.as_deref().map(|at| entry(ids, at)).transpose()?;
    let selection = Selection { at, all: args.all_branches };
    let places = Places { home: std::env::home_dir().map(|home| home.to_string_lossy().into_owned()) };
    let (bytes, extension) = match args.html {
        true => {
            // The page shows what a file for others would hold.
            let whole = portable(&session, &Selection { at: None, all: true }, &places)?;
            (page(&recover(&whole), &selection)?.into_bytes(), "html")
        }
        false => (portable(&session, &selection, &places)?, "jsonl"),
    };
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

/// A file of its own in the current directory, so that a terminal is not filled with it.
fn new_file(session: &Recovered, extension: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let id = session.header.as_ref().map(|header| header.id.to_string()).unwrap_or_default();
    let name = format!("haft-{}.{extension}", id.get(..8).unwrap_or("session"));
    let file = PathBuf::from(name);
    let mut made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .with_context(|| format!("cannot make {}; name another file with -o", file.display()))?;
    made.write_all(bytes).with_context(|| format!("cannot write {}", file.display()))?;
    written(&file);
    Ok(())
}

fn written(file: &Path) {
    note(&sanitize_line(&format!("written to {}; read it before you give it away", file.display())));
}
