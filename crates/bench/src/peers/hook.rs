//! The least process hook: blocking, no JSON library, lines taken apart by their text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

/// The variable that names the file in which [`record_calls`] writes down what it is told.
pub(crate) const RECORD: &str = "HAFT_BENCH_RECORD";

/// The beginning of every call; a notification begins otherwise.
const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":"#;

const PARAMS: &[u8] = br#""params":"#;

/// Lets everything pass.
pub(super) fn allow_all() -> io::Result<()> {
    serve(|_, answer| answer.extend_from_slice(br#"{"action":"continue","approved":true}"#))
}

/// Sends back all that it is asked about, as its own change of it.
pub(super) fn echo_calls() -> io::Result<()> {
    serve(|line, answer| {
        let params = memchr::memmem::find(line, PARAMS).and_then(|at| line.get(at + PARAMS.len()..));
        let params = params.and_then(|rest| rest.strip_suffix(b"}\n"));
        answer.extend_from_slice(br#"{"action":"modify","request":"#);
        answer.extend_from_slice(params.unwrap_or(b"{}"));
        answer.push(b'}');
    })
}

/// Writes down what comes, and lets it pass.
pub(super) fn record_calls() -> io::Result<()> {
    let path = std::env::var_os(RECORD).ok_or_else(|| io::Error::other("no file to write to"))?;
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

/// Answers every call with what `result` adds; it also sees what is only told.
fn serve(mut result: impl FnMut(&[u8], &mut Vec<u8>)) -> io::Result<()> {
    // As large as a pipe: with less, the base would be slower than it must be.
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
