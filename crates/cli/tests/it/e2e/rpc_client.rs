//! A client of `haft rpc` with time limits.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use haft_test_support::PATIENCE;
use serde_json::{Value, json};

use super::running::eventually;
use super::scene::Scene;

/// A running `haft rpc`.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: JoinHandle<String>,
    /// All lines that were read.
    read: Vec<Value>,
    /// The lines that no test has consumed.
    left: VecDeque<Value>,
    /// The number of sent commands.
    sent: u32,
}

/// The outcome.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) code: i32,
    /// All lines, in order.
    pub(crate) lines: Vec<Value>,
    pub(crate) stderr: String,
}

impl Client {
    /// Starts `haft rpc` with these flags, the scene's model and its extensions.
    pub(crate) fn of(scene: &Scene, flags: &[&str]) -> Self {
        Self::start(scene.command_of(&["rpc"], flags))
    }

    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines();
            // A failed test reads no more.
            lines.map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Self { child, stdin, lines, stderr, read: Vec::new(), left: VecDeque::new(), sent: 0 }
    }

    /// Writes a line unchanged, without checking that it is read.
    pub(crate) fn write(&mut self, line: &str) {
        let _ = self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes());
    }

    /// Sends a command with a unique id, and returns the id.
    pub(crate) fn send(&mut self, kind: &str, fields: &Value) -> String {
        self.sent += 1;
        let id = format!("{kind}-{}", self.sent);
        let mut command = json!({ "id": id, "type": kind });
        command.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.write(&command.to_string());
        id
    }

    /// Sends a command, and returns its reply.
    #[track_caller]
    pub(crate) fn ask(&mut self, kind: &str, fields: &Value) -> Value {
        let id = self.send(kind, fields);
        self.reply(&id)
    }

    /// Returns the reply to a command.
    #[track_caller]
    pub(crate) fn reply(&mut self, id: &str) -> Value {
        self.until(&format!("the reply to {id}"), |line| line["type"] == "response" && line["id"] == id)
    }

    /// Sends a command that must succeed, and returns the data of its reply.
    #[track_caller]
    pub(crate) fn done(&mut self, kind: &str, fields: &Value) -> Value {
        let mut reply = self.ask(kind, fields);
        assert_eq!(reply["success"], true, "{reply}");
        reply["data"].take()
    }

    /// Sends a command that must fail, and returns the error code and message.
    #[track_caller]
    pub(crate) fn refused(&mut self, kind: &str, fields: &Value) -> (String, String) {
        let reply = self.ask(kind, fields);
        assert_eq!(reply["success"], false, "{reply}");
        let text = |key: &str| reply[key].as_str().unwrap_or_default().to_owned();
        (text("code"), text("error"))
    }

    /// Returns the next unconsumed event of a kind.
    #[track_caller]
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        self.until(kind, |line| line["type"] == kind)
    }

    /// Returns the next unconsumed event of a kind in a session.
    #[track_caller]
    pub(crate) fn event_of(&mut self, session: &str, kind: &str) -> Value {
        self.until(kind, |line| line["type"] == kind && line["session"] == session)
    }

    /// Sends a prompt, waits for the end, and returns the last message of the model.
    #[track_caller]
    pub(crate) fn prompt(&mut self, message: &str) -> String {
        self.done("prompt", &json!({ "message": message }));
        self.event("done");
        let said = self.read.iter().rev().find(|line| line["type"] == "assistant_message");
        said.map(text_of).unwrap_or_default()
    }

    /// Returns the first unconsumed line that matches. Fails the test at the time limit.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.left.iter().position(&wanted) {
            return self.left.remove(at).unwrap();
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let line = parsed(&line);
                    self.read.push(line.clone());
                    if wanted(&line) {
                        return line;
                    }
                    self.left.push_back(line);
                }
                Err(why) => self.fail(what, why),
            }
        }
    }

    /// Closes the standard input.
    pub(crate) fn say_no_more(&mut self) {
        self.stdin = None;
    }

    /// Closes the standard input, and waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Left {
        self.say_no_more();
        self.wait()
    }

    /// Waits for the end; fails the test at the time limit.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Left {
        let mut status = None;
        let ended = eventually(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        if !ended {
            self.child.kill().unwrap();
        }
        let rest: Vec<Value> = self.lines.iter().map(|line| parsed(&line)).collect();
        self.read.extend(rest);
        let stderr = self.stderr.join().unwrap();
        let Some(code) = status.and_then(|status| status.code()) else {
            panic!("haft did not end by itself\n{:#?}\n{stderr}", self.read);
        };
        Left { code, lines: self.read, stderr }
    }

    /// Sends a polite signal.
    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "sends a signal as a person would")]
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    #[track_caller]
    fn fail(&mut self, what: &str, why: RecvTimeoutError) -> ! {
        let _ = self.child.kill();
        let lines = self.read.iter().map(|line| format!("{line}\n")).collect::<String>();
        panic!("{what} did not come: {why}\n{lines}");
    }
}

impl Left {
    /// Fails the test, with the complete output, unless the outcome is as expected.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        let lines = self.lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(self.code, code, "{lines}{}", self.stderr);
        self
    }

    /// Returns the lines of one kind.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }
}

/// Returns the text of a message.
pub(crate) fn text_of(message: &Value) -> String {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

#[track_caller]
fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("not a line of JSON: {error}\n{line}"))
}
