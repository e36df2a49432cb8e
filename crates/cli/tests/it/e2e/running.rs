//! A running `haft` with time limits.

use std::io::{Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use haft_test_support::PATIENCE;
use serde_json::Value;

/// The polling interval for conditions.
const POLL: Duration = Duration::from_millis(5);

/// A running `haft`.
pub(crate) struct Running {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    /// The standard error output without the banners.
    pub(crate) stderr: String,
    /// The banners about extensions of the command line, with their line breaks.
    pub(crate) banners: String,
}

impl Running {
    /// Starts the command with this standard input.
    pub(crate) fn start(mut command: Command, stdin: Option<&str>) -> Self {
        if stdin.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        if let Some(text) = stdin {
            child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        }
        let (stdout, stderr) = (collected(child.stdout.take()), collected(child.stderr.take()));
        Self { child, stdout, stderr }
    }

    /// Sends the signal of Ctrl-C.
    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "sends a signal as a person would")]
    pub(crate) fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// True if the process has ended by itself.
    #[cfg(unix)]
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends the signal that no process can catch.
    #[cfg(unix)]
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; fails the test at the time limit.
    pub(crate) fn wait(mut self) -> Ran {
        let mut status = None;
        let ended = eventually(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        if !ended {
            self.child.kill().unwrap();
        }
        let (stdout, stderr) = (self.stdout.join().unwrap(), self.stderr.join().unwrap());
        let Some(code) = status.as_ref().and_then(ExitStatus::code) else {
            panic!("haft did not end by itself\n{stdout}\n{stderr}");
        };
        let (banners, stderr) = apart(&stderr);
        Ran { code, stdout, stderr, banners }
    }
}

/// Splits standard error into the banners and the rest.
fn apart(text: &str) -> (String, String) {
    let (mut banners, mut rest, mut goes_on) = (String::new(), String::new(), false);
    for line in text.split_inclusive('\n') {
        goes_on = line.starts_with("haft: running ") || (goes_on && line.starts_with("  "));
        if goes_on { banners.push_str(line) } else { rest.push_str(line) }
    }
    (banners, rest)
}

impl Ran {
    /// Fails the test, with the complete output, unless the outcome is as expected.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns all events of `--json`.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the events of one kind.
    pub(crate) fn of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// Returns the extensions that failed, and their error codes.
    pub(crate) fn faults(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        self.of("extension_error")
            .iter()
            .map(|fault| (text(&fault["extension"]), text(&fault["code"])))
            .collect()
    }
}

/// Waits until a condition holds; returns false at the time limit.
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        // sleep: polls the condition
        thread::sleep(POLL);
    }
}

/// Returns deadlines in seconds, each twice the previous one, for tests in which a deadline must expire after a process
/// has started.
pub(crate) fn growing_seconds() -> impl Iterator<Item = u64> {
    let seconds = std::iter::successors(Some(3), |seconds| Some(seconds * 2));
    seconds.take_while(|seconds| *seconds <= PATIENCE.as_secs())
}

fn collected(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    let mut pipe = pipe.unwrap();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}
