//! Every block of the document by which PicoClaw's users write hooks. The queries of this host contain
//! everything that the document shows, and each answer of the document has its documented effect.
//!
//! The blocks are those of `adapters/picoclaw/fixtures/compat/seed.jsonl`, verbatim.

use std::sync::{Arc, Mutex};

use haft_adapter_picoclaw::wire::EventForm;
use haft_core::hooks::{
    BeforeModelRequest, CancellationToken, OutgoingRequest, RequestDecision, RequestEdit,
};
use haft_core::model::RequestOptions;
use haft_packages::HookSpec;
use haft_protocol::message::AssistantBlock;
use haft_test_support::FakePeer;
use serde_json::Value;

use super::agency::{Does, Made, Ran, Script, Stage, call, goes_on, play, said, tool};
use super::hook_with_events;
use crate::support::{Events, builder};

const SEED: &str = include_str!("../../../../adapters/picoclaw/fixtures/compat/seed.jsonl");

/// The role of a block.
enum Block {
    /// Sent by this host, with the paths that differ from the document.
    Sent(&'static [&'static str]),
    /// Sent by a hook in reply to this method, with the effect on the turn.
    Answer(&'static str, &'static [&'static str]),
}

use Block::{Answer, Sent};

/// One entry for each line of the document.
const BLOCKS: &[Block] = &[
    Answer(
        "hook.hello",
        &[
            "error: Tool execution denied by hook: blocked: extension py_review_gate, which must approve this, failed hook.hello: the hook reported an error: error message; the user was notified",
            "answer: Done.",
            "py_review_gate: hello_invalid: failed hook.hello: the hook reported an error: error message",
        ],
    ),
    Sent(&[]),
    Answer("hook.hello", &["answer: Hi!"]),
    // The document swaps the last two, and steps are counted from 1.
    Sent(&[
        "/params/meta/Iteration: 1",
        r#"/params/meta/TracePath: "turn.llm.request""#,
        r#"/params/meta/Source: "runTurn""#,
    ]),
    Answer("hook.before_llm", &["offered: my_plugin_tool", "answer: Hi!"]),
    Sent(&[]),
    Answer("hook.after_llm", &[r#"ran: echo {"text":"hi"}"#, "result: echoed: hi", "answer: Done."]),
    Sent(&[]),
    Answer(
        "hook.before_tool",
        &[r#"ran: echo_text {"text":"modified hello"}"#, "result: echoed: modified hello", "answer: Done."],
    ),
    Answer("hook.before_tool", &["error: Tool execution denied by hook: Invalid arguments", "answer: Done."]),
    Answer("hook.before_tool", &["result: Plugin tool executed successfully", "answer: Done."]),
    // A tool is approved before it runs.
    Sent(&["/id: 6"]),
    Answer(
        "hook.after_tool",
        &[r#"ran: echo_text {"text":"hello"}"#, "result: echoed: hello", "answer: Done."],
    ),
    Sent(&["/id: 5"]),
    Answer("hook.approve_tool", &["ran: bash", r#"result: ran {"command":"rm -rf /"}"#, "answer: Done."]),
    Answer(
        "hook.approve_tool",
        &[
            "error: Tool execution denied by approval hook: Dangerous command, execution denied",
            "answer: Done.",
        ],
    ),
    Sent(&[]),
];

/// Lines that PicoClaw itself has sent: by 0.2.9 and later, and by 0.2.8 and earlier.
const PICOCLAW: &str = include_str!("../../../../adapters/picoclaw/fixtures/compat/picoclaw.jsonl");

/// Fields with examples in the document, whose values are this host's own.
const OWN: [&str; 10] = [
    "time",
    "Time",
    "AgentID",
    "TurnID",
    "turn_id",
    "SessionKey",
    "session_key",
    "chat_id",
    "sender_id",
    "duration",
];

#[tokio::test(start_paused = true)]
async fn each_document_block_is_sent_or_has_its_effect() {
    for (number, (line, block)) in (1..).zip(SEED.lines().zip(BLOCKS)) {
        check(number, line, block).await;
    }
}

#[test]
fn checks_every_document_block() {
    let is_request = |line: &str| line.contains(r#""method":"#);
    let document: Vec<bool> = SEED.lines().map(is_request).collect();
    let here: Vec<bool> = BLOCKS.iter().map(|block| matches!(block, Sent(_))).collect();
    assert_eq!(here, document);
}

async fn check(number: usize, line: &str, block: &Block) {
    let value: Value = serde_json::from_str(line).unwrap();
    match block {
        Sent(differs) => check_sent(&value, EventForm::Name, differs).await,
        Answer(method, effect) => {
            let asked = if value["result"]["action"] == "respond" {
                value["result"]["call"].clone()
            } else {
                asked(if value["error"].is_null() { method } else { "hook.approve_tool" })
            };
            let turn = turn(&asked, EventForm::Name, word_for_word(line, value, method)).await;
            assert_eq!(turn.effect(), *effect, "line {number}");
        }
    }
}

/// Checks that this host sends the fields of a line, except for these paths.
async fn check_sent(line: &Value, form: EventForm, differs: &[&str]) {
    let turn = turn(line, form, goes_on).await;
    let sent = turn.calls.iter().find(|call| call["method"] == line["method"]).unwrap();
    let mut found = Vec::new();
    differences("", line, sent, &mut found);
    assert_eq!(found, differs, "{line}\nsent: {sent}");
}

#[tokio::test(start_paused = true)]
async fn sends_lines_of_both_picoclaw_versions() {
    let event = r#"/params/id: "evt-1""#;
    let lines: [(EventForm, &[&str]); 3] =
        [(EventForm::Runtime, &[]), (EventForm::Runtime, &[event]), (EventForm::Number, &[])];
    assert_eq!(PICOCLAW.lines().count(), lines.len());
    for (line, (form, differs)) in PICOCLAW.lines().zip(lines) {
        check_sent(&serde_json::from_str(line).unwrap(), form, differs).await;
    }
}

/// Answers one method with this line and the number of the call, and continues otherwise.
fn word_for_word(
    line: &str,
    value: Value,
    method: &'static str,
) -> impl FnMut(&Value) -> Does + Send + 'static {
    let (line, number) = (line.to_owned(), format!("\"id\":{},", value["id"]));
    assert!(line.contains(&number));
    move |call| match &call["method"] {
        of if of == method => {
            Does::Says(line.replacen(&number, &format!("\"id\":{},", call["id"]), 1) + "\n")
        }
        _ => goes_on(call),
    }
}

/// Returns the documented request for this method.
fn asked(method: &str) -> Value {
    let values = SEED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    values.into_iter().find(|value| value["method"] == method).unwrap()
}

/// Runs a turn with this request, as far as the document shows its cause.
async fn turn(request: &Value, form: EventForm, does: impl FnMut(&Value) -> Does + Send + 'static) -> Turn {
    let params = request.get("params").unwrap_or(request);
    let events = Events::default();
    let (peer, reader, writer) = FakePeer::pair();
    let peer = play(peer, does);
    let host =
        builder(&events).hook_streams("py_review_gate", spec(params, form), reader, writer).start().await;
    let stage = Stage::of(Script::new("claude-sonnet", vec![says(params), vec![said("Done.")]]));
    let log = Log::default();
    let mut agent = stage.agent(&host).before_model_request(Temperature);
    for name in ["echo", "echo_text"] {
        agent = agent.tool(echo(name, &log));
    }
    let ran = stage.prompt(&agent.build().unwrap(), "hello").await;
    host.shutdown().await;
    Turn { ran, calls: peer.await.unwrap(), log, events }
}

struct Turn {
    ran: Ran,
    calls: Vec<Value>,
    log: Log,
    events: Events,
}

/// The record of runs.
type Log = Arc<Mutex<Vec<String>>>;

impl Turn {
    /// Returns the effect of the turn.
    fn effect(&self) -> Vec<String> {
        let added = self.ran.offered().split_off(3);
        let mut lines: Vec<String> = added.iter().map(|name| format!("offered: {name}")).collect();
        lines.extend(self.log.lock().unwrap().iter().map(|ran| format!("ran: {ran}")));
        if self.ran.executions > 0 {
            lines.push("ran: bash".to_owned());
        }
        for (text, is_error) in self.ran.results() {
            lines.push(format!("{}: {text}", if is_error { "error" } else { "result" }));
        }
        lines.push(format!("answer: {}", self.ran.answer()));
        if let Err(error) = &self.ran.outcome {
            lines.push(format!("turn: {error}"));
        }
        if let [(name, code)] = &self.events.faults()[..] {
            lines.push(format!("{name}: {code}: {}", self.events.only_message()));
        }
        lines
    }
}

/// Returns a hook with the modes of this hello, or with all modes.
fn spec(params: &Value, event_form: EventForm) -> HookSpec {
    let all = ["observe", "llm", "tool", "approve"].map(Value::from).to_vec();
    let modes = params["modes"].as_array().unwrap_or(&all);
    let points = [("llm", "before_llm"), ("tool", "before_tool"), ("approve", "approve_tool")];
    let points: Vec<&str> =
        points.iter().filter(|(mode, _)| modes.contains(&(*mode).into())).map(|(_, point)| *point).collect();
    hook_with_events(event_form, &points, &["tool_exec_start"])
}

/// Returns the model's answer that causes this query or event.
fn says(params: &Value) -> Vec<AssistantBlock> {
    let response = &params["response"];
    let mut blocks: Vec<AssistantBlock> = response["content"].as_str().map(said).into_iter().collect();
    for asked in response["tool_calls"].as_array().into_iter().flatten() {
        let function = &asked["function"];
        let args = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
        blocks.push(call(asked["id"].as_str().unwrap(), function["name"].as_str().unwrap(), args));
    }
    let payload = params.get("Payload").or(params.get("payload"));
    let event = |payload: &Value| (payload["Tool"].clone(), payload["Arguments"].clone());
    let (tool, args) = payload.map_or_else(|| (params["tool"].clone(), params["arguments"].clone()), event);
    if let Some(name) = tool.as_str() {
        blocks.push(call("tc-1", name, args));
    }
    if blocks.is_empty() { vec![said("Hi!")] } else { blocks }
}

fn echo(name: &'static str, log: &Log) -> Made {
    let log = Arc::clone(log);
    tool(name, move |args| {
        log.lock().unwrap().push(format!("{name} {args}"));
        format!("echoed: {}", args["text"].as_str().unwrap_or_default())
    })
}

/// Sets the temperature of the agent, as an embedding program does.
struct Temperature;

#[async_trait::async_trait]
impl BeforeModelRequest for Temperature {
    async fn before_model_request(&self, _: &CancellationToken, _: &OutgoingRequest) -> RequestDecision {
        let options = Some(RequestOptions::default().with_temperature(0.7));
        RequestDecision::Edit(RequestEdit::default().with_options(options))
    }
}

/// Collects the differences between a sent line and the document. Additional fields are allowed.
fn differences(path: &str, document: &Value, sent: &Value, found: &mut Vec<String>) {
    match (document, sent) {
        (Value::Object(document), Value::Object(sent)) => {
            for (key, value) in document {
                let path = format!("{path}/{key}");
                match sent.get(key) {
                    Some(sent) => differences(&path, value, sent, found),
                    None => found.push(format!("{path} is not there")),
                }
            }
        }
        (Value::Array(document), Value::Array(sent)) => {
            for (at, value) in document.iter().enumerate() {
                let path = format!("{path}/{at}");
                let of = |sent| {
                    let mut found = Vec::new();
                    differences(&path, value, sent, &mut found);
                    found
                };
                let closest = sent.iter().map(of).min_by_key(Vec::len);
                found.extend(closest.unwrap_or_else(|| vec![format!("{path} is not there")]));
            }
        }
        (document, sent) if document == sent => {}
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) => {
            let is_own = path.rsplit('/').next().is_some_and(|name| OWN.contains(&name));
            found.extend((!is_own).then(|| format!("{path}: {sent}")));
        }
        (document, sent) => found.push(format!("{path} is {sent} in place of {document}")),
    }
}
