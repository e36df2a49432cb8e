//! A directory that goes with the test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

/// An empty directory, removed on drop.
#[derive(Debug)]
pub(super) struct TempDir(PathBuf);

impl TempDir {
    pub(super) fn create() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("haft-harness-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(name);
        // What a killed test of the same process id left behind must not look like this one's state.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A directory that stays behind harms nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}
