//! Rows that cannot run on this machine.

use anyhow::Result;

/// The exit status of a row that cannot run on this machine.
pub(crate) const SKIPPED: u8 = 77;

/// The error of a row that needs something that this machine lacks.
#[derive(Debug)]
pub(crate) struct SkippedRow(String);

impl std::fmt::Display for SkippedRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SkippedRow {}

/// Ends a row that needs something that this machine lacks.
pub(crate) fn skip<T>(what: impl Into<String>) -> Result<T> {
    Err(anyhow::Error::new(SkippedRow(what.into())))
}
