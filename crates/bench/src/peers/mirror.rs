//! An extension that has a copy of the session, and reports when it has the last entry of a block.

use std::io::{self, Read, Write};

use super::watcher::send_note;

/// The name that the last entry of a block gives the session.
pub(crate) const LAST_NAME: &str = "the last entry of a block";

/// The first lines.
const OPENING: &str = concat!(
    r#"{"type":"hello","name":"mirror","version":"1.0.0","capabilities":["mirror"],"mirror":["entries"]}"#,
    "\n",
    r#"{"type":"ready"}"#,
    "\n"
);

/// The capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// Reads frames without decoding them, as the watcher of events does.
pub(crate) fn follow_session() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    output.write_all(OPENING.as_bytes())?;
    let last = memchr::memmem::Finder::new(LAST_NAME);
    let (mut chunk, mut seen) = (vec![0; CHUNK], Vec::new());
    loop {
        let read = input.read(&mut chunk)?;
        let bytes = chunk.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        seen.extend_from_slice(bytes);
        if last.find(&seen).is_some() {
            send_note(&mut output, "end", seen.len())?;
            seen.clear();
        }
        // The name may be in two reads.
        let rest = seen.len().saturating_sub(LAST_NAME.len());
        seen.drain(..rest);
    }
}
