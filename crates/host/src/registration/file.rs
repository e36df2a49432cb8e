//! The file in which registrations are kept: a first line that says for whom it holds, and one line an extension.
//!
//! Whatever is wrong with it, it holds nothing. It is replaced as a whole, so that two programs that write at once
//! leave the file of one of them, and never half of both.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::record::{Owner, Record};

/// The longest file that is read, in bytes. A longer one is begun anew.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Extensions that one file remembers; the oldest lines go first.
const MAX_LINES: usize = 2000;

/// Files for other models, versions or limits that stay; the oldest go first.
const MAX_FILES: usize = 8;

const PREFIX: &str = "registrations-";

/// Digits of a number, and the space behind them.
const ID: usize = 17;

/// Where the file is, and what its first line must be.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) header: String,
}

/// Something to write down.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) id: u64,
    pub(super) record: Record,
}

impl File {
    /// The file for this `header`, whose hash is `number`.
    pub(super) fn new(dir: &Path, number: u64, header: String) -> Self {
        Self { path: dir.join(format!("{PREFIX}{number:016x}.jsonl")), header }
    }

    /// All of it, if it is what it should be.
    pub(super) fn read(&self) -> Option<String> {
        let mut text = String::new();
        let file = fs::File::open(&self.path).ok()?;
        file.take(MAX_FILE + 1).read_to_string(&mut text).ok()?;
        let fits = text.len() as u64 <= MAX_FILE;
        (fits && text.lines().next() == Some(self.header.as_str())).then_some(text)
    }

    /// Adds lines, each in the place of an older one of its owner.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add(&self, lines: &[Line]) -> io::Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir)?;
        let old = self.read();
        if old.is_none() {
            thin_out(dir);
        }
        let new: HashSet<&Owner> = lines.iter().map(|line| &line.record.owner).collect();
        let old = old.as_deref().unwrap_or_default();
        let kept: Vec<&str> = old.lines().skip(1).filter(|line| is_of_use(line, &new)).collect();
        let skipped = (kept.len() + lines.len()).saturating_sub(MAX_LINES);
        let mut text = format!("{}\n", self.header);
        for line in kept.iter().skip(skipped) {
            text.push_str(line);
            text.push('\n');
        }
        for line in lines {
            let json = serde_json::to_string(&line.record)?;
            text.push_str(&format!("{:016x} {json}\n", line.id));
        }
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(text.as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// The lines of a file by their numbers.
pub(super) fn index(text: &str) -> HashMap<&str, &str> {
    text.lines().skip(1).filter_map(|line| Some((line.get(..ID - 1)?, line.get(ID..)?))).collect()
}

/// Whether a line is to stay: it can be read, its extension is there, and no newer line takes its place.
fn is_of_use(line: &str, new: &HashSet<&Owner>) -> bool {
    #[derive(Deserialize)]
    struct Head {
        owner: Owner,
    }
    let head = line.get(ID..).and_then(|json| serde_json::from_str::<Head>(json).ok());
    head.is_some_and(|head| !new.contains(&head.owner) && head.owner.dir.is_dir())
}

/// Makes room for one more file.
fn thin_out(dir: &Path) {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with(PREFIX));
    let mut dated: Vec<_> =
        ours.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
    dated.sort();
    let surplus = (dated.len() + 1).saturating_sub(MAX_FILES);
    for (_, path) in dated.iter().take(surplus) {
        // Another program may have been faster.
        _ = fs::remove_file(path);
    }
}
