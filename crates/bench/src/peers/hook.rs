//! The minimal process hook: blocking IO, no JSON library, lines parsed as text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

/// The environment variable with the file in which [`record_calls`] records its input.
pub(crate) const RECORD: &str = "HAFT_BENCH_RECORD";

/// The beginning of every call; a notification begins differently.
const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":"#;

const PARAMS: &[u8] = br#""params":"#;

/// Allows everything.
pub(super) fn allow_all() -> io::Result<()> {
    serve(|_, answer| answer.extend_from_slice(br#"{"action":"continue","approved":true}"#))
}

/// Sends back everything that it is asked about, as a modification.
pub(super) fn echo_calls() -> io::Result<()> {
    serve(|line, answer| {
        let params = memchr::memmem::find(line, PARAMS).and_then(|at| line.get(at + PARAMS.len()..));
        let params = params.and_then(|rest| rest.strip_suffix(b"}\n"));
        answer.extend_from_slice(br#"{"action":"modify","request":"#);
        answer.extend_from_slice(params.unwrap_or(b"{}"));
        answer.push(b'}');
    })
}

/// Records the input and allows everything.
pub(super) fn record_calls() -> io::Result<()> {
    let path = std::env::var_os(RECORD).ok_or_else(|| io::Error::other("HAFT_BENCH_RECORD is not set"))?;
    let mut file = File::create(path)?;
    let mut outcome = Ok(());
    serve(|line, answer| {
        if let Err(error) = file.write_all(line) {
            outcome = Err(error);
        }
        answer.extend_from_slice(br#"{"action":"continue","approved":true}"#);
    })?;
    outcome
}

/// Answers every call with the bytes that `result` appends; `result` also sees notifications.
fn serve(mut result: impl FnMut(&[u8], &mut Vec<u8>)) -> io::Result<()> {
    // The buffer is as large as a pipe; a smaller one would slow the base down.
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        answer.clear();
        let id = line.strip_prefix(CALL).and_then(|rest| rest.split(|&byte| byte == b',').next());
        if let Some(id) = id {
            answer.extend_from_slice(CALL);
            answer.extend_from_slice(id);
            answer.extend_from_slice(br#","result":"#);
        }
        result(&line, &mut answer);
        if id.is_some() {
            answer.extend_from_slice(b"}\n");
            output.write_all(&answer)?;
        }
    }
}
