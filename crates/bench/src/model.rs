//! A model server on loopback that answers at once, so that the rest of a run's cost belongs to the agent.
//!
//! It uses blocking IO with one thread for each connection. The path of a request selects the API, so any agent can use
//! the server. The next answer depends on the request alone: every command prints its number, so the last number in a
//! request shows the progress. Requests that offer no tools (a title, a summary) get one word of text.

mod answer;
mod http;
mod paced;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use memchr::memmem;
use serde_json::{Value, json};

use crate::platform;

pub(crate) use paced::PacedModel;

/// The text before the number in every command.
const MARK: &str = "haft-bench-call-";

/// The last answer of the model.
pub(crate) const LAST_WORD: &str = "Hello.";

/// The answer if a command was requested but not run.
const NOT_RUN: &str = "A command was not run.";

/// The text before the mark in a command.
const ECHO: &str = "echo ";

/// The script of the model before its last answer.
#[derive(Debug, Clone)]
pub(crate) struct ModelScript {
    /// The number of commands, one after the other.
    pub(crate) calls: usize,
    /// The agent's tool that runs a command.
    pub(crate) tool: &'static str,
    /// Returns that tool's arguments for a command.
    pub(crate) args: fn(&str) -> Value,
}

impl ModelScript {
    /// Creates a script for an agent whose tool takes `{"command": …}`.
    pub(crate) fn with_shell_tool(tool: &'static str, calls: usize) -> Self {
        Self { calls, tool, args: |command| json!({ "command": command }) }
    }
}

/// A request as received.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    /// All bytes, head and body.
    pub(crate) bytes: Vec<u8>,
    /// The time of the last byte, by [`platform::now`].
    pub(crate) at: f64,
}

/// A model server that listens until the program ends.
#[derive(Debug)]
pub(crate) struct ModelServer {
    address: SocketAddr,
    shared: Arc<Mutex<ServerState>>,
}

#[derive(Debug)]
struct ServerState {
    script: ModelScript,
    requests: Vec<RecordedRequest>,
}

impl ModelServer {
    /// Starts to listen on a free port.
    pub(crate) fn start(script: ModelScript) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("bind a loopback port")?;
        let address = listener.local_addr().context("read the port")?;
        let shared = Arc::new(Mutex::new(ServerState { script, requests: Vec::new() }));
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                // A client that disconnects needs no answer.
                thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Ok(Self { address, shared })
    }

    /// Returns the address without a path.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the script for later requests.
    pub(crate) fn set(&self, script: ModelScript) {
        lock(&self.shared).script = script;
    }

    /// Returns the requests for an answer since the previous call.
    pub(crate) fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut lock(&self.shared).requests)
    }
}

fn lock(shared: &Mutex<ServerState>) -> MutexGuard<'_, ServerState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, shared: &Mutex<ServerState>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = http::RequestReader::default();
    while let Some(request) = reader.next(&mut stream)? {
        let at = platform::now();
        let Some(api) = answer::StreamingApi::from_path(request.path()) else {
            http::write(&mut stream, request.fallback_body())?;
            continue;
        };
        let said = {
            let mut shared = lock(shared);
            shared.requests.push(RecordedRequest { bytes: request.bytes.clone(), at });
            next(&shared.script, request.body())
        };
        http::write(&mut stream, &api.encode_stream(&said))?;
    }
    Ok(())
}

/// One answer of the model.
#[derive(Debug, PartialEq)]
enum ModelAnswer {
    Word(&'static str),
    Call { number: usize, tool: &'static str, args: Value },
}

fn next(script: &ModelScript, body: &[u8]) -> ModelAnswer {
    let offered = memmem::find(body, format!("\"{}\"", script.tool).as_bytes()).is_some();
    let last = memmem::rfind(body, MARK.as_bytes());
    // The number is in the request only if the command was run.
    if last.is_some_and(|at| body.get(..at).unwrap_or_default().ends_with(ECHO.as_bytes())) {
        return ModelAnswer::Word(NOT_RUN);
    }
    let number = last.map_or(0, |at| {
        let digits = body.get(at + MARK.len()..).unwrap_or_default().iter();
        let digits: String =
            digits.take_while(|byte| byte.is_ascii_digit()).map(|&b| char::from(b)).collect();
        digits.parse::<usize>().map_or(0, |last| last + 1)
    });
    if !offered || number >= script.calls {
        return ModelAnswer::Word(LAST_WORD);
    }
    ModelAnswer::Call { number, tool: script.tool, args: (script.args)(&format!("{ECHO}{MARK}{number}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_selects_next_answer() {
        let script = ModelScript::with_shell_tool("bash", 2);
        let check = |body: &str, expect: Result<usize, &str>| {
            let found = match next(&script, body.as_bytes()) {
                ModelAnswer::Call { number, .. } => Ok(number),
                ModelAnswer::Word(word) => Err(word),
            };
            assert_eq!(found, expect, "{body}");
        };
        check(r#"{"tools":["bash"]}"#, Ok(0));
        check(r#"{"tools":["bash"],"said":"echo haft-bench-call-0 haft-bench-call-0\n"}"#, Ok(1));
        check(r#"{"tools":["bash"],"said":"echo haft-bench-call-0 blocked"}"#, Err(NOT_RUN));
        check(r#"{"tools":["bash"],"said":"haft-bench-call-0 haft-bench-call-1"}"#, Err(LAST_WORD));
        check(r#"{"title":"please"}"#, Err(LAST_WORD));
    }
}
