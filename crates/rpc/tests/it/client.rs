//! A client that writes down what it says and hears. What it hears is held against the schemas.

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

/// How long a line is waited for, in virtual time.
const PATIENCE: Duration = Duration::from_secs(600);

/// After how long nothing more comes, in virtual time.
const A_WHILE: Duration = Duration::from_millis(1);

/// Bytes that fit into each direction before a writer has to wait: a pipe's worth.
const PIPE: usize = 64 * 1024;

/// The schemas that programs are given.
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

/// How a client drives a program: over one connection or the other.
pub(crate) type Drives = fn(Program) -> Client;

/// A client, and the process that it drives.
pub(crate) struct Client {
    writer: Option<DuplexStream>,
    lines: Option<Lines<BufReader<DuplexStream>>>,
    served: JoinHandle<Result<EndReason, ServeError<CommandFailure>>>,
    /// Tells the process to end.
    pub(crate) cancel: CancellationToken,
    /// What was said and heard.
    said: String,
    /// What is different each time, and what stands for it.
    names: Vec<(String, String)>,
    /// True if nothing is written down.
    pub(crate) silent: bool,
}

impl Client {
    /// Drives this program.
    pub(crate) fn of(program: Program) -> Self {
        Self::with(program, |_| {})
    }

    /// Drives this program, served with such options.
    pub(crate) fn with(program: Program, set: impl FnOnce(&mut ServeOptions)) -> Self {
        Self::behind(PIPE, program, set)
    }

    /// Drives this program, whose output waits in a pipe that holds so many bytes.
    pub(crate) fn behind(pipe: usize, program: Program, set: impl FnOnce(&mut ServeOptions)) -> Self {
        let mut options = ServeOptions::new("1.0.0");
        set(&mut options);
        Self::served(pipe, |cancel, input, output| {
            tokio::spawn(async move { serve(&cancel, Arc::new(program), input, output, options).await })
        })
    }

    /// Drives this program as a client in the same process does.
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

    /// Says a command that fits the schema.
    pub(crate) async fn send(&mut self, command: Value) {
        fits(&SCHEMAS.request, &command);
        self.send_raw(&command.to_string()).await;
    }

    /// Says a line, whatever it is.
    pub(crate) async fn send_raw(&mut self, line: &str) {
        self.note('>', line.trim_end_matches('\r'));
        self.write(format!("{line}\n").as_bytes()).await;
    }

    /// Says these bytes, whatever they are.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.note('>', &String::from_utf8_lossy(bytes));
        self.write(bytes).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("the client has not stopped speaking");
        writer.write_all(bytes).await.expect("haft reads");
    }

    /// The next line; `None` at the end.
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

    /// Hears lines until one of this type, which is returned.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let value = self.next().await.unwrap_or_else(|| panic!("{kind} before the end"));
            if value["type"] == kind {
                return value;
            }
        }
    }

    /// Hears lines until the reply to the command of this id, which is returned.
    pub(crate) async fn reply(&mut self, id: &str) -> Value {
        loop {
            let value = self.until("response").await;
            if value["id"] == id {
                return value;
            }
        }
    }

    /// Hears lines until one of this type of this session, which is returned.
    pub(crate) async fn until_in(&mut self, session: &str, kind: &str) -> Value {
        loop {
            let value = self.until(kind).await;
            if value["session"] == session {
                return value;
            }
        }
    }

    /// Introduces itself; the session that it begins with.
    pub(crate) async fn hello(&mut self) -> String {
        let about = self.ask(json!({"type": "hello", "ui": true})).await;
        about["data"]["session"].as_str().unwrap().to_owned()
    }

    /// Has a session opened beside the others.
    pub(crate) async fn opened(&mut self, command: Value) -> String {
        let opened = self.ask(command).await;
        opened["data"]["session"].as_str().unwrap().to_owned()
    }

    /// Says a prompt and hears lines until it is dealt with.
    pub(crate) async fn prompt(&mut self, id: &str, message: &str) {
        self.send(json!({"id": id, "type": "prompt", "message": message})).await;
        self.until("done").await;
    }

    /// Says a command and hears lines until its reply, which is returned. Its id is its type.
    pub(crate) async fn ask(&mut self, mut command: Value) -> Value {
        let id = command["type"].as_str().unwrap().to_owned();
        let fields = std::mem::take(command.as_object_mut().unwrap());
        let with_id: Map<String, Value> = [("id".to_owned(), json!(id))].into_iter().chain(fields).collect();
        self.send(Value::Object(with_id)).await;
        self.reply(&id).await
    }

    /// Says nothing more.
    pub(crate) fn stop_speaking(&mut self) {
        self.writer = None;
    }

    /// Reads nothing more.
    pub(crate) fn stop_reading(&mut self) {
        self.lines = None;
    }

    /// Hears lines until nothing comes for a while.
    pub(crate) async fn all_there_is(&mut self) -> Vec<Value> {
        let mut heard = Vec::new();
        while let Ok(Some(line)) = timeout(A_WHILE, self.next()).await {
            heard.push(line);
        }
        heard
    }

    /// Stops speaking, hears the rest, and says how it ended.
    pub(crate) async fn end(mut self) -> (Result<EndReason, ServeError<CommandFailure>>, String) {
        self.stop_speaking();
        self.heard().await
    }

    /// Hears the rest, and says how it ended.
    pub(crate) async fn heard(mut self) -> (Result<EndReason, ServeError<CommandFailure>>, String) {
        while self.next().await.is_some() {}
        (self.served.await.expect("it does not panic"), self.said)
    }

    /// Stops speaking and reading.
    pub(crate) async fn leave(mut self) -> Result<EndReason, ServeError<CommandFailure>> {
        self.stop_speaking();
        self.stop_reading();
        self.ended().await
    }

    /// How it ended.
    pub(crate) async fn ended(self) -> Result<EndReason, ServeError<CommandFailure>> {
        self.served.await.expect("it does not panic")
    }

    /// Says a word that is different each time; this stands for it.
    pub(crate) fn call(&mut self, word: &str, name: &str) {
        self.names.push((word.to_owned(), name.to_owned()));
        // What is part of another word comes behind it.
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

    /// Learns which words are different each time: the ids of sessions and entries, and where files lie.
    fn learn(&mut self, value: &Value) {
        let known = |names: &[(String, String)], word: &str| names.iter().any(|(random, _)| random == word);
        let mut found: Vec<(&str, String)> = Vec::new();
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let kind = match key.as_str() {
                        "session" | "forked_from" => "session",
                        "path" => "path",
                        "leaf" | "id" | "parent" => "entry",
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

/// Options that leave little room.
pub(crate) fn narrow(options: &mut ServeOptions) {
    options.room = OutboxLimits { pieces: 4 * 1024, notes: 16 * 1024 };
}

/// Options that ask for a token.
pub(crate) fn guarded(options: &mut ServeOptions) {
    options.token = Some(AuthToken("secret".into()));
}
