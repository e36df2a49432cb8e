//! Blocking writes to the terminal.

use std::io::{self, ErrorKind, Write as _};

use crate::timeouts;

/// Writes a whole text. It blocks as long as the terminal does not read, so the caller needs its own thread.
pub(super) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match out.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) => wait_if_blocked(error)?,
        }
    }
    loop {
        match out.flush() {
            Ok(()) => return Ok(()),
            Err(error) => wait_if_blocked(error)?,
        }
    }
}

/// Waits if the terminal is non-blocking: another program that shares it may have set that.
fn wait_if_blocked(error: io::Error) -> io::Result<()> {
    let kind = error.kind();
    if kind == ErrorKind::WouldBlock {
        std::thread::sleep(timeouts::TAKES_NOTHING);
        return Ok(());
    }
    if kind == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}
