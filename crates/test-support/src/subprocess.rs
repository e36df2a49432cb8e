//! An extension as a real process, with a host made of method calls.

#![expect(
    clippy::unwrap_used,
    clippy::should_implement_trait,
    reason = "as in a test: it is the host of one"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use crate::PATIENCE;

/// A running extension. Killed on drop.
#[derive(Debug)]
pub struct PeerProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl PeerProcess {
    /// Starts a program in `dir` and sends `hello_ack`.
    pub fn start(program: &Path, args: &[String], dir: &Path) -> Self {
        let mut process = Self::start_silently(program, args, dir, Stdio::inherit());
        process.send(&json!({
            "type": "hello_ack", "protocol_version": 1, "zot_version": "0.0.0", "provider": "p", "model": "m",
            "cwd": "/", "extension_dir": dir, "data_dir": dir,
        }));
        process
    }

    /// Starts a program in `dir`.
    #[expect(clippy::disallowed_methods, reason = "a test plays the host, which alone may start extensions")]
    pub fn start_silently(program: &Path, args: &[String], dir: &Path, stderr: Stdio) -> Self {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines }
    }

    /// Starts the extension of an `extension.json`, as the host would.
    pub fn of_manifest(dir: &Path) -> Self {
        let manifest = fs::read_to_string(dir.join("extension.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let exec = manifest["exec"].as_str().unwrap();
        let args: Vec<String> = serde_json::from_value(manifest["args"].clone()).unwrap_or_default();
        // The system searches a name without `/` in `PATH`.
        let program = if exec.contains('/') { dir.join(exec) } else { exec.into() };
        let mut process = Self::start(&program, &args, dir);
        let hello = process.expect_frame("hello");
        assert_eq!(hello["name"], manifest["name"], "the manifest's name");
        process
    }

    /// Returns the id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a frame.
    pub fn send(&mut self, frame: &Value) {
        self.send_line(&frame.to_string());
    }

    /// Sends a line; the newline is added.
    pub fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the test closed stdin before this");
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Closes stdin.
    pub fn close(&mut self) {
        self.stdin.take();
    }

    /// Returns the next frame.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|_| panic!("no frame; exit: {:?}", self.child.try_wait()));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Returns the next frame, which must be of this type.
    #[track_caller]
    pub fn expect_frame(&mut self, kind: &str) -> Value {
        let frame = self.next();
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// Sends a request and returns its response.
    #[track_caller]
    pub fn ask_question(&mut self, question: &Value, answer: &str) -> Value {
        self.send(question);
        let frame = self.expect_frame(answer);
        assert_eq!(frame["id"], question["id"]);
        frame
    }

    /// Skips the registrations and returns them.
    #[track_caller]
    pub fn until_ready(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("no ready frame");
            let frame: Value = serde_json::from_str(&line).unwrap();
            if frame["type"] == "ready" {
                return frames;
            }
            frames.push(frame);
        }
    }

    /// Sends `shutdown` and waits for the end.
    #[track_caller]
    pub fn shutdown(mut self) {
        self.send(&json!({"type": "shutdown"}));
        self.expect_frame("shutdown_ack");
        assert!(self.wait_for_exit().success());
    }

    /// Closes stdin and waits for the end.
    #[track_caller]
    pub fn hang_up(mut self) -> ExitStatus {
        self.close();
        self.wait_for_exit()
    }

    #[track_caller]
    fn wait_for_exit(&mut self) -> ExitStatus {
        for _ in 0..PATIENCE.as_millis() / 10 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            // sleep: looks again
            thread::sleep(Duration::from_millis(10));
        }
        panic!("extension does not exit");
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
