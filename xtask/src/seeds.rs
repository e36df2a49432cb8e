//! The fuzz targets, and their seeds: the first inputs of every run of a target.

use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use crate::repo::root;

/// The directories of the example lines of all dialects, below the repository.
const FIXTURES: &[&str] = &["crates/adapters/picoclaw/fixtures", "crates/protocol/fixtures"];

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// The name of the target's corpus, oracle and binary.
    pub name: &'static str,
    /// The maximum length of a generated input in bytes: enough to reach all code of the target.
    pub max_len: u32,
    /// Schemas whose names and constants go into the dictionary, as paths below the repository.
    pub schemas: &'static [&'static str],
    /// True for a file of fixtures whose lines are inputs of this target.
    reads_fixture: fn(&str) -> bool,
}

/// All targets, by name.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "answer", max_len: 2048, schemas: &[], reads_fixture: |_| false },
    FuzzTarget { name: "chain", max_len: 64, schemas: &[], reads_fixture: |_| false },
    FuzzTarget {
        name: "envelope",
        max_len: 1024,
        schemas: &["docs/schema/extension_frame.schema.json", "docs/schema/host_frame.schema.json"],
        reads_fixture: |path| !path.contains("/adapters/") && !path.contains("/rpc/"),
    },
    FuzzTarget {
        name: "hooks",
        max_len: 1024,
        schemas: &["docs/schema/hook_call.schema.json", "docs/schema/hook_result.schema.json"],
        reads_fixture: |path| path.contains("/picoclaw/"),
    },
    FuzzTarget { name: "manifest", max_len: 512, schemas: &[], reads_fixture: |_| false },
    FuzzTarget {
        name: "rpc",
        max_len: 512,
        schemas: &["docs/schema/rpc_request.schema.json"],
        reads_fixture: |path| path.contains("/rpc/"),
    },
    FuzzTarget { name: "sanitizer", max_len: 128, schemas: &[], reads_fixture: |_| false },
];

/// An input from a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuzzSeed {
    /// The file, relative to the repository, with the line number of a fixture.
    pub source: String,
    /// The input itself.
    pub bytes: Vec<u8>,
}

impl FuzzTarget {
    /// Returns the folder of the committed inputs.
    #[must_use]
    pub fn corpus_dir(&self) -> PathBuf {
        root().join("fuzz/corpus").join(self.name)
    }

    /// Returns the committed inputs, by name.
    ///
    /// # Errors
    ///
    /// If the corpus cannot be read; the message names the file.
    pub fn committed_seeds(&self) -> Result<Vec<FuzzSeed>> {
        let files = list_files(&self.corpus_dir())?;
        files.iter().map(|file| Ok(FuzzSeed { source: repo_path(file), bytes: read(file)? })).collect()
    }

    /// Returns the lines of the protocol's fixtures that this target reads, so that a new frame becomes a seed
    /// without a copy.
    ///
    /// # Errors
    ///
    /// If a fixture cannot be read; the message names the file.
    pub fn fixture_seeds(&self) -> Result<Vec<FuzzSeed>> {
        let mut seeds = Vec::new();
        let files = FIXTURES.iter().map(|folder| list_files(&root().join(folder)));
        for file in files.collect::<Result<Vec<_>>>()?.concat() {
            let source = repo_path(&file);
            if !source.ends_with(".jsonl") || !(self.reads_fixture)(&source) {
                continue;
            }
            for (index, line) in read(&file)?.split_inclusive(|byte| *byte == b'\n').enumerate() {
                seeds.push(FuzzSeed { source: format!("{source}:{}", index + 1), bytes: line.to_vec() });
            }
        }
        Ok(seeds)
    }
}

/// Returns the path relative to the repository, with forward slashes.
fn repo_path(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Returns all files below a folder, sorted by path.
fn list_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| with_path(folder, &error))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => found.extend(list_files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| with_path(path, &error))
}

fn with_path(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("read {}: {error}", path.display()))
}
