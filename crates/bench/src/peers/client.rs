//! The minimal client of a model: an agent without logic of its own.
//!
//! It uses blocking IO. It sends requests that an agent sent before, reads each answer to its end, and runs a shell
//! command between two requests.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable with the directory of the requests, in files named by their number.
pub(crate) const REQUESTS: &str = "HAFT_BENCH_REQUESTS";

/// The environment variable with the model's address.
pub(crate) const ADDRESS: &str = "HAFT_BENCH_MODEL";

pub(super) fn run() -> io::Result<()> {
    let variable = |name: &str| std::env::var(name).map_err(io::Error::other);
    let (dir, address) = (variable(REQUESTS)?, variable(ADDRESS)?);
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut answer = Vec::new();
    for number in 0.. {
        let Some(request) = request(Path::new(&dir), number)? else { break };
        if number > 0 {
            run_shell(number - 1)?;
        }
        stream.write_all(&request)?;
        read(&mut stream, &mut answer)?;
    }
    io::stdout().write_all(b"Hello.\n")
}

fn request(dir: &Path, number: usize) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(dir.join(number.to_string())) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Runs the agent's shell and reads both outputs to their end.
fn run_shell(number: usize) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the base is what the standard library can do")]
    let mut command = Command::new("/bin/bash");
    command.args(["-c", "--", &format!("echo haft-bench-call-{number}")]).stdin(Stdio::null());
    command.output().map(drop)
}

/// Reads an answer that has a length.
fn read(stream: &mut TcpStream, answer: &mut Vec<u8>) -> io::Result<()> {
    answer.clear();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if is_complete(answer) {
            return Ok(());
        }
    }
}

fn is_complete(answer: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(answer) else { return false };
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    length.is_some_and(|length| body.len() >= length)
}
