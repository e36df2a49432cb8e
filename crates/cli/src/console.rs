//! The terminal: everything that is shown goes through here, and through core's sanitiser.

use std::io::{self, Write as _};

use anyhow::Context as _;
use haft_core::sanitize::sanitize;

use crate::exit::{Exit, OrExit as _};

/// A line for people, on standard error. Nobody to read it is no reason to fail.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", sanitize(text));
}

/// A line that was asked for, on standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(format!("{}\n", sanitize(text)).as_bytes())
}

/// Bytes that were asked for and that no terminal can mistake, on standard output.
///
/// # Errors
/// When they cannot be written. That the reader is gone, as with `haft … | head -1`, is an error that ends haft
/// in silence.
pub(crate) fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match &written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => written.or_exit(Exit::Ok),
        Ok(()) | Err(_) => written.context("cannot write to standard output"),
    }
}
