//! The minimal extension: blocking IO, no JSON library, frames parsed as text.

use std::io::{self, BufRead, BufReader, Write};
use std::thread;
use std::time::Duration;

const HELLO: &str =
    concat!(r#"{"type":"hello","name":"least","version":"1.0.0","capabilities":["events"]}"#, "\n",);
const READY: &str = concat!(r#"{"type":"ready"}"#, "\n");

/// Subscribes as an interceptor that is asked in order.
const ORDERED: &str = concat!(r#"{"type":"subscribe","intercept":["tool_call"]}"#, "\n");
/// Subscribes as a gate, which is asked together with others.
const GATE: &str = concat!(r#"{"type":"subscribe","intercept":[{"event":"tool_call","role":"gate"}]}"#, "\n");

/// Answers at once.
pub(super) fn run_ordered() -> io::Result<()> {
    answer(ORDERED, None)
}

/// Waits this long before each answer.
pub(super) fn run_gate(thinking: Duration) -> io::Result<()> {
    answer(GATE, Some(thinking))
}

fn answer(subscription: &str, thinking: Option<Duration>) -> io::Result<()> {
    // The buffer is as large as a pipe; a smaller one would slow the base down.
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut output = io::stdout().lock();
    output.write_all([HELLO, subscription, READY].concat().as_bytes())?;
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix(br#"{"type":"event_intercept","id":""#) {
            thinking.into_iter().for_each(thread::sleep);
            let id = rest.split(|&byte| byte == b'"').next().unwrap_or_default();
            answer.clear();
            answer.extend_from_slice(br#"{"type":"event_intercept_response","id":""#);
            answer.extend_from_slice(id);
            // The answer of a gate must contain its decision.
            answer.extend_from_slice(b"\",\"block\":false}\n");
            output.write_all(&answer)?;
        } else if line.starts_with(br#"{"type":"shutdown""#) {
            return output.write_all(b"{\"type\":\"shutdown_ack\"}\n");
        }
    }
}
