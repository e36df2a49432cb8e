//! A process that writes a session until it is killed, and prints the acknowledged entries.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use haft_core::session::entry::ToolStart;
use haft_core::session::{Durability, Session};
use haft_protocol::RawJson;
use haft_protocol::ids::ToolCallId;

/// The first argument of such a process.
pub(crate) const WRITER: &str = "writer";

/// One of this many entries is on the disk before it is acknowledged. Such entries are rare, because a writer that
/// waits for the disk is not killed in the middle of a line. Their positions vary, because a round writes few entries.
const DURABLE: usize = 64;

/// Writes entries of `size` bytes to a session: an existing file, or a new one in a directory. The first line of the
/// output is the file, and each further line is the id of an entry.
pub(crate) fn run(place: &Path, size: &str) -> ExitCode {
    match write(place, size) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn write(place: &Path, size: &str) -> Result<()> {
    // Arguments are written without conversion, so that most of the time is spent writing.
    let args = RawJson::from_value(&["x".repeat(size.parse().context("parse the size")?)])?;
    let session = match place.is_file() {
        true => Session::open(place).context("open the session")?,
        false => Session::create(place, place),
    };
    let mut out = std::io::stdout();
    writeln!(out, "{}", session.path().context("the session has no file")?.display())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for number in std::process::id() as usize.. {
        let durability = if number % DURABLE == 0 { Durability::Now } else { Durability::Soon };
        let start = ToolStart::new(ToolCallId::new("call"), "write".to_owned(), args.clone());
        let id = runtime.block_on(session.append(start, durability)).context("append")?;
        out.write_all(format!("{id}\n").as_bytes())?;
    }
    Ok(())
}
