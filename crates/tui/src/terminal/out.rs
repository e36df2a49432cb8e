//! Writing to the terminal, whole texts at once.

use std::io::{self, ErrorKind, Write as _};

use crate::timeouts;

/// Writes all of a text. It takes as long as the terminal takes it: whoever calls has a thread of its own.
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

/// Whoever shares the terminal may have made it one that does not block.
fn wait_if_blocked(error: io::Error) -> io::Result<()> {
    let kind = error.kind();
    if kind == ErrorKind::WouldBlock {
        std::thread::sleep(timeouts::TAKES_NOTHING);
        return Ok(());
    }
    if kind == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}
