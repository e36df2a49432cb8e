//! A client of `haft rpc`, for cases with several prompts in one run.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::timeouts::{LOOK, PATIENCE};

/// A running `haft rpc`. Killed on drop.
pub(crate) struct RpcProcess {
    child: Child,
    input: Option<ChildStdin>,
    lines: UnboundedReceiver<Value>,
    errors: Option<JoinHandle<String>>,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) struct RpcEnd {
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
}

impl RpcProcess {
    /// Starts this command with pipes.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("start haft; `cargo xtask faults` builds it")?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("haft has no output pipe")?;
        let mut stderr = child.stderr.take().context("haft has no error pipe")?;
        let (sender, lines) = unbounded_channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            // An invalid line becomes null.
            let mut values = lines.map(|line| serde_json::from_str(&line).unwrap_or_default());
            values.all(|value: Value| sender.send(value).is_ok())
        });
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // The text before an error is still useful.
            _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Ok(Self { child, input, lines, errors: Some(errors) })
    }

    /// Sends a command. A program that has ended is not an error; the next line then is `None`.
    pub(crate) fn send(&mut self, command: &Value) {
        if let Some(input) = self.input.as_mut() {
            _ = writeln!(input, "{command}");
        }
    }

    /// Returns the next line, or `None` after the end of the output.
    pub(crate) async fn next_line(&mut self) -> Result<Option<Value>> {
        tokio::time::timeout(PATIENCE, self.lines.recv()).await.context("no line from haft")
    }

    /// Kills haft and waits for its end.
    pub(crate) async fn kill(mut self) -> Result<RpcEnd> {
        self.child.kill().context("kill haft")?;
        self.end().await
    }

    /// Closes the input and waits for the end of haft.
    pub(crate) async fn end(mut self) -> Result<RpcEnd> {
        self.input = None;
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().context("check the process of haft")? {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => bail!("haft did not end in time"),
                // sleep: between two checks
                None => tokio::time::sleep(LOOK).await,
            }
        };
        let errors = self.errors.take().and_then(|errors| errors.join().ok());
        Ok(RpcEnd { status, stderr: errors.unwrap_or_default() })
    }
}

impl Drop for RpcProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
