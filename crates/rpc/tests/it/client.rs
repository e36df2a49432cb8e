//! A client that records its requests and the server's lines. The lines are checked against the
//! schemas.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use haft_core::hooks::CancellationToken;
use haft_protocol::rpc::{AuthToken, CommandFailure};
use haft_rpc::{EndReason, OutboxLimits, ServeError, ServeOptions, serve};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::local::serve_lines;
use crate::program::Program;

/// The maximum wait for a line, in virtual time.
const PATIENCE: Duration = Duration::from_secs(600);

/// The silence after which no more lines are expected, in virtual time.
const A_WHILE: Duration = Duration::from_millis(1);

/// The capacity of each direction, the same as of a pipe.
const PIPE: usize = 64 * 1024;

/// The published schemas.
static SCHEMAS: LazyLock<Schemas> = LazyLock::new(Schemas::read);

struct Schemas {
    request: Validator,
    response: Validator,
    event: Validator,
    data: Validator,
}

impl Schemas {
    fn read() -> Self {
        let read = |name: &str| -> Value {
            let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");
            serde_json::from_str(&std::fs::read_to_string(format!("{dir}/{name}.schema.json")).unwrap())
                .unwrap()
        };
        let compiled = |schema: &Value| jsonschema::validator_for(schema).unwrap();
        // One reply has the data of one command.
        let mut data = read("rpc_data");
        data.as_object_mut().unwrap().remove("required");
        Self {
            request: compiled(&read("rpc_request")),
            response: compiled(&read("rpc_response")),
            event: compiled(&read("rpc_event")),
            data: compiled(&data),
        }
    }
}

#[track_caller]
fn fits(schema: &Validator, value: &Value) {
    if let Err(error) = schema.validate(value) {
        panic!("{error}: {value}");
    }
}

/// A way to connect a client to a program: over lines or in the same process.
pub(crate) type Drives = fn(Program) -> Client;

/// A client, with the server that it drives.
pub(crate) struct Client {
    writer: Option<DuplexStream>,
    lines: Option<Lines<BufReader<DuplexStream>>>,
    served: JoinHandle<Result<EndReason, ServeError<CommandFailure>>>,
    /// Tells the server to end.
    pub(crate) cancel: CancellationToken,
    /// The recorded requests and lines.
    said: String,
    /// Values that differ in each run, with their replacements.
    names: Vec<(String, String)>,
    /// True to record nothing.
    pub(crate) silent: bool,
}

impl Client {
    /// Connects to this program.
    pub(crate) fn of(program: Program) -> Self {
        Self::with(program, |_| {})
    }

    /// Connects to this program with changed options.
    pub(crate) fn with(program: Program, set: impl FnOnce(&mut ServeOptions)) -> Self {
        Self::behind(PIPE, program, set)
    }

    /// Connects to this program through a pipe of the given capacity.
    pub(crate) fn behind(pipe: usize, program: Program, set: impl FnOnce(&mut ServeOptions)) -> Self {
        let mut options = ServeOptions::new("1.0.0");
        set(&mut options);
        Self::served(pipe, |cancel, input, output| {
            tokio::spawn(async move { serve(&cancel, Arc::new(program), input, output, options).await })
        })
    }

    /// Connects to this program as a client in the same process.
    pub(crate) fn local(program: Program) -> Self {
        Self::served(PIPE, |cancel, input, output| {
            let options = ServeOptions::new("1.0.0");
            tokio::spawn(async move { serve_lines(&cancel, program, input, output, options).await })
        })
    }

    fn served(
        pipe: usize,
        serve: impl FnOnce(
            CancellationToken,
            DuplexStream,
            DuplexStream,
        ) -> JoinHandle<Result<EndReason, ServeError<CommandFailure>>>,
    ) -> Self {
        let (writer, input) = tokio::io::duplex(PIPE);
        let (output, reader) = tokio::io::duplex(pipe);
        let cancel = CancellationToken::new();
        let served = serve(cancel.clone(), input, output);
        let lines = Some(BufReader::new(reader).lines());
        let (said, names) = (String::new(), Vec::new());
        Self { writer: Some(writer), lines, served, cancel, said, names, silent: false }
    }

    /// Sends a command that fits the schema.
    pub(crate) async fn send(&mut self, command: Value) {
        fits(&SCHEMAS.request, &command);
        self.send_raw(&command.to_string()).await;
    }

    /// Sends a raw line.
    pub(crate) async fn send_raw(&mut self, line: &str) {
        self.note('>', line.trim_end_matches('\r'));
        self.write(format!("{line}\n").as_bytes()).await;
    }

    /// Sends raw bytes.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.note('>', &String::from_utf8_lossy(bytes));
        self.write(bytes).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("the client has not stopped speaking");
        writer.write_all(bytes).await.expect("haft reads");
    }

    /// Returns the next line; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let lines = self.lines.as_mut().expect("the client has not stopped reading");
        let line = timeout(PATIENCE, lines.next_line()).await.expect("haft says something");
        let line = line.expect("the pipe works")?;
        let value: Value = serde_json::from_str(&line).expect("haft writes JSON");
        if value["type"] == "response" {
            fits(&SCHEMAS.response, &value);
            if let Some(data) = value.get("data") {
                let command = value["command"].as_str().unwrap().to_owned();
                fits(&SCHEMAS.data, &Value::Object(Map::from_iter([(command, data.clone())])));
            }
        } else {
            fits(&SCHEMAS.event, &value);
        }
        self.learn(&value);
        self.note('<', &line);
        Some(value)
    }

    /// Reads lines until one of this type, and returns it.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let value = self.next().await.unwrap_or_else(|| panic!("{kind} before the end"));
            if value["type"] == kind {
                return value;
            }
        }
    }

    /// Reads lines until the reply to the command of this id, and returns it.
    pub(crate) async fn reply(&mut self, id: &str) -> Value {
        loop {
            let value = self.until("response").await;
            if value["id"] == id {
                return value;
            }
        }
    }

    /// Reads lines until one of this type and session, and returns it.
    pub(crate) async fn until_in(&mut self, session: &str, kind: &str) -> Value {
        loop {
            let value = self.until(kind).await;
            if value["session"] == session {
                return value;
            }
        }
    }

    /// Sends `hello`, and returns the first session.
    pub(crate) async fn hello(&mut self) -> String {
        let about = self.ask(json!({"type": "hello", "ui": true})).await;
        about["data"]["session"].as_str().unwrap().to_owned()
    }

    /// Opens another session.
    pub(crate) async fn opened(&mut self, command: Value) -> String {
        let opened = self.ask(command).await;
        opened["data"]["session"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt and reads lines until it is done.
    pub(crate) async fn prompt(&mut self, id: &str, message: &str) {
        self.send(json!({"id": id, "type": "prompt", "message": message})).await;
        self.until("done").await;
    }

    /// Sends a command and reads lines until its reply, which is returned. The id is the type of
    /// the command.
    pub(crate) async fn ask(&mut self, mut command: Value) -> Value {
        let id = command["type"].as_str().unwrap().to_owned();
        let fields = std::mem::take(command.as_object_mut().unwrap());
        let with_id: Map<String, Value> = [("id".to_owned(), json!(id))].into_iter().chain(fields).collect();
        self.send(Value::Object(with_id)).await;
        self.reply(&id).await
    }

    /// Closes the input of the server.
    pub(crate) fn stop_speaking(&mut self) {
        self.writer = None;
    }

    /// Stops reading.
    pub(crate) fn stop_reading(&mut self) {
        self.lines = None;
    }

    /// Reads lines until none arrive for a while.
    pub(crate) async fn all_there_is(&mut self) -> Vec<Value> {
        let mut heard = Vec::new();
        while let Ok(Some(line)) = timeout(A_WHILE, self.next()).await {
            heard.push(line);
        }
        heard
    }

    /// Closes the input, reads the remaining lines, and returns the outcome.
    pub(crate) async fn end(mut self) -> (Result<EndReason, ServeError<CommandFailure>>, String) {
        self.stop_speaking();
        self.heard().await
    }

    /// Reads the remaining lines, and returns the outcome.
    pub(crate) async fn heard(mut self) -> (Result<EndReason, ServeError<CommandFailure>>, String) {
        while self.next().await.is_some() {}
        (self.served.await.expect("it does not panic"), self.said)
    }

    /// Stops writing and reading.
    pub(crate) async fn leave(mut self) -> Result<EndReason, ServeError<CommandFailure>> {
        self.stop_speaking();
        self.stop_reading();
        self.ended().await
    }

    /// Returns the outcome.
    pub(crate) async fn ended(self) -> Result<EndReason, ServeError<CommandFailure>> {
        self.served.await.expect("it does not panic")
    }

    /// Replaces a value that differs in each run by a name in the record.
    pub(crate) fn call(&mut self, word: &str, name: &str) {
        self.names.push((word.to_owned(), name.to_owned()));
        // A value that is part of another one comes after it.
        self.names.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    }

    fn note(&mut self, mark: char, line: &str) {
        if self.silent {
            return;
        }
        let mut line = line.to_owned();
        for (random, name) in &self.names {
            line = line.replace(random, name);
        }
        self.said += &format!("{mark} {line}\n");
    }

    /// Finds the values that differ in each run: ids of sessions and entries, and paths.
    fn learn(&mut self, value: &Value) {
        let known = |names: &[(String, String)], word: &str| names.iter().any(|(random, _)| random == word);
        let mut found: Vec<(&str, String)> = Vec::new();
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let kind = match key.as_str() {
                        "session" | "forked_from" => "session",
                        "path" => "path",
                        "leaf" | "id" | "parent" | "entry" | "summary" => "entry",
                        "created" | "last" => "time",
                        _ => {
                            self.learn(value);
                            continue;
                        }
                    };
                    if let Some(text) = value.as_str() {
                        found.push((kind, text.to_owned()));
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        for (kind, word) in found {
            let is_random = match kind {
                "time" => !word.starts_with("2026-01-02T03"),
                "path" => word.ends_with(".jsonl"),
                _ => word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit()),
            };
            if is_random && !known(&self.names, &word) {
                let number = self.names.iter().filter(|(_, name)| name.starts_with(kind)).count() + 1;
                // Two sessions may have begun in the same second, or not.
                let name = if kind == "time" { "time".to_owned() } else { format!("{kind}-{number}") };
                self.call(&word, &name);
            }
        }
    }
}

/// Sets low limits.
pub(crate) fn narrow(options: &mut ServeOptions) {
    options.room = OutboxLimits { pieces: 4 * 1024, notes: 16 * 1024 };
}

/// Sets a token.
pub(crate) fn guarded(options: &mut ServeOptions) {
    options.token = Some(AuthToken("secret".into()));
}
