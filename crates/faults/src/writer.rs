//! A process that writes a session until it is killed, and says which entries were acknowledged.

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

/// One entry of so many is on the disk before it is acknowledged. Rare, because whoever waits for a disk is not killed in
/// the middle of a line. Which one it is differs, because few are written before the end.
const DURABLE: usize = 64;

/// Writes entries of `size` bytes to a session: a file, or a new one in a directory. The first line that it prints is
/// the file; then one for each entry, its id.
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
    // Arguments are written as they stand, so that most of the time goes into writing.
    let args = RawJson::from_value(&["x".repeat(size.parse().context("read the size")?)])?;
    let session = match place.is_file() {
        true => Session::open(place).context("open the session")?,
        false => Session::create(place, place),
    };
    let mut out = std::io::stdout();
    writeln!(out, "{}", session.path().context("a session without a file")?.display())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for number in std::process::id() as usize.. {
        let durability = if number % DURABLE == 0 { Durability::Now } else { Durability::Soon };
        let start =
            ToolStart { call_id: ToolCallId::new("call"), name: "write".to_owned(), args: args.clone() };
        let id = runtime.block_on(session.append(start, durability)).context("append")?;
        out.write_all(format!("{id}\n").as_bytes())?;
    }
    Ok(())
}
