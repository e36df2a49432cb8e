//! The audit log: one JSON object per line, appended.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use haft_sdk::LifecycleEvent;
use serde::Serialize;

/// One line of the log.
#[derive(Serialize)]
struct Entry<'a> {
    /// The time in seconds since 1970.
    at: u64,
    #[serde(flatten)]
    event: &'a LifecycleEvent,
}

/// Appends one event, in one write, so that two sessions can share the file.
pub(crate) fn append(file: &Path, event: &LifecycleEvent) -> io::Result<()> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut line = serde_json::to_string(&Entry { at, event })?;
    line.push('\n');
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}
