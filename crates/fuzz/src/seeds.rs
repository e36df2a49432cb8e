//! Seeds: the inputs that every run of a target begins with.

use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use crate::Target;

/// The files with the protocol's example lines, below the repository.
const FIXTURES: &str = "crates/protocol/fixtures";

/// An input from a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// The file, relative to the repository, with the line number of a fixture.
    pub source: String,
    /// The input itself.
    pub bytes: Vec<u8>,
}

impl Target {
    /// The folder of the committed inputs.
    #[must_use]
    pub fn corpus(&self) -> PathBuf {
        root().join("fuzz/corpus").join(self.name)
    }

    /// The committed inputs, by name.
    ///
    /// # Errors
    ///
    /// The corpus cannot be read; the message names the file.
    pub fn committed(&self) -> Result<Vec<Seed>> {
        let files = files(&self.corpus())?;
        files.iter().map(|file| Ok(Seed { source: shown(file), bytes: read(file)? })).collect()
    }

    /// The lines of the protocol's fixtures that this target reads, so that a new frame is a seed without another copy.
    ///
    /// # Errors
    ///
    /// A fixture cannot be read; the message names the file.
    pub fn fixtures(&self) -> Result<Vec<Seed>> {
        let mut seeds = Vec::new();
        for file in files(&root().join(FIXTURES))? {
            let source = shown(&file);
            if !source.ends_with(".jsonl") || !(self.reads_fixture)(&source) {
                continue;
            }
            for (index, line) in read(&file)?.split_inclusive(|byte| *byte == b'\n').enumerate() {
                seeds.push(Seed { source: format!("{source}:{}", index + 1), bytes: line.to_vec() });
            }
        }
        Ok(seeds)
    }
}

/// The root of the repository.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

/// The path relative to the repository, with forward slashes.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// All files below a folder, sorted by path.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| named(folder, &error))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("read {}: {error}", path.display()))
}
