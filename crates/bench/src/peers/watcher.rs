//! Extensions that only observe: one counts the events it receives, the other never reads.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

/// The number of events after which a watcher reports its progress.
pub(crate) const PACE: usize = 1_000;

/// The event that ends a block, as a line.
pub(crate) const LAST: &str = "{\"type\":\"event\",\"event\":\"turn_end\",\"stop\":\"end\"}\n";

/// The first lines of a watcher.
const OPENING: &str = concat!(
    r#"{"type":"hello","name":"watcher","version":"1.0.0","capabilities":["events","event_gap"]}"#,
    "\n",
    r#"{"type":"subscribe","events":["turn_start","tool_call","assistant_message","turn_end"]}"#,
    "\n",
    r#"{"type":"ready"}"#,
    "\n"
);

/// The capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// The interval at which a stalled watcher checks for its parent.
const ORPHAN: Duration = Duration::from_secs(1);

/// Counts lines after the handshake. Reports the count once on the way and once when the last event of a block arrives.
pub(crate) fn count() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    output.write_all(OPENING.as_bytes())?;
    skip_line(&mut input)?;
    let (mut chunk, mut end) = (vec![0; CHUNK], Vec::new());
    let (mut lines, mut said) = (0, false);
    loop {
        let read = input.read(&mut chunk)?;
        let bytes = chunk.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        lines += memchr::memchr_iter(b'\n', bytes).count();
        end.extend_from_slice(bytes.get(read.saturating_sub(LAST.len())..).unwrap_or_default());
        end.drain(..end.len().saturating_sub(LAST.len()));
        if end == LAST.as_bytes() {
            send_note(&mut output, "end", lines)?;
            (lines, said) = (0, false);
        } else if lines >= PACE && !std::mem::replace(&mut said, lines >= PACE) {
            send_note(&mut output, "pace", lines)?;
        }
    }
}

/// Registers and then reads nothing.
pub(crate) fn run_stalled() -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(OPENING.as_bytes())?;
    #[cfg(unix)]
    {
        let parent = std::os::unix::process::parent_id();
        while std::os::unix::process::parent_id() == parent {
            thread::sleep(ORPHAN);
        }
    }
    Ok(())
}

fn skip_line(input: &mut impl Read) -> io::Result<()> {
    let mut byte = [0];
    while byte != *b"\n" {
        input.read_exact(&mut byte)?;
    }
    Ok(())
}

pub(super) fn send_note(output: &mut impl Write, what: &str, lines: usize) -> io::Result<()> {
    output.write_all(
        format!("{{\"type\":\"notify\",\"level\":\"info\",\"message\":\"{what} {lines}\"}}\n").as_bytes(),
    )?;
    output.flush()
}
