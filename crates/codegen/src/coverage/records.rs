//! The parts of the protocol that tests used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::registry::RegistryLine;

/// The tests by the part of the protocol that they used.
pub(super) struct TestRecords {
    tests: BTreeMap<String, BTreeSet<String>>,
}

impl TestRecords {
    /// Reads the files that the tests wrote.
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let mut tests = BTreeMap::<String, BTreeSet<String>>::new();
        let files = fs::read_dir(dir).with_context(|| {
            format!("read {}: run the tests first, cargo nextest run -p haft --test it e2e", dir.display())
        })?;
        for file in files {
            let path = file?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().replace('.', "::");
            for part in fs::read_to_string(&path)?.lines() {
                tests.entry(part.to_owned()).or_default().insert(name.clone());
            }
        }
        Ok(Self { tests })
    }

    /// Returns the tests that used a part of the protocol, sorted; `None` if there are none.
    pub(super) fn tests_of(&self, line: &RegistryLine) -> Option<&BTreeSet<String>> {
        self.tests.get(&line.to_string())
    }
}
