//! Tests of answers without end, without bound or without sense: each ends in one clear error and little memory.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use haft_core::model::{ModelError, ModelErrorKind, ModelEvent, wrap_invalid_args};
use haft_protocol::message::AssistantBlock;
use haft_providers::{HttpModel, HttpTimeouts};
use haft_test_support::model_server::{ModelServer, WireFormat};

use crate::support::{DIALECTS, NATIVE, ask, config, impatient};

/// The memory that a request may use at any time, with everything that reads it.
const MEMORY: u64 = 64 * 1024 * 1024;

/// A server that answers with the pieces of an iterator until the client disconnects.
struct FloodServer {
    address: String,
}

impl FloodServer {
    /// `head` is sent before the pieces; empty for the usual head of a stream.
    fn start(wire: WireFormat, head: &str, pieces: impl Iterator<Item = String> + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let kind = if wire == WireFormat::Ollama { "application/x-ndjson" } else { "text/event-stream" };
        let usual = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
        let head = if head.is_empty() { usual } else { head.to_owned() };
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream);
            let mut pieces = std::iter::once(head).chain(pieces);
            // An error means that the client has disconnected.
            while pieces.next().is_some_and(|piece| stream.write_all(piece.as_bytes()).is_ok()) {}
        });
        let version = matches!(wire, WireFormat::OpenAiChat | WireFormat::OpenAiResponses);
        Self { address: format!("http://127.0.0.1:{port}{}", if version { "/v1" } else { "" }) }
    }
}

fn read_request(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_none_or(|length| body.len() >= length.parse().unwrap()) {
            return;
        }
    }
}

/// Asks a model whose server answers with these pieces. Returns the error, and checks the memory.
fn run_flood(
    wire: WireFormat,
    head: &str,
    timeouts: HttpTimeouts,
    pieces: impl Iterator<Item = String> + Send + 'static,
) -> ModelError {
    run(wire, head, timeouts, pieces).expect_err("a failure")
}

/// Asks a model whose server answers with these pieces. Returns the last event, and checks the memory.
fn run(
    wire: WireFormat,
    head: &str,
    timeouts: HttpTimeouts,
    pieces: impl Iterator<Item = String> + Send + 'static,
) -> Result<ModelEvent, ModelError> {
    let server = FloodServer::start(wire, head, pieces);
    let name = DIALECTS.iter().chain(&NATIVE).find(|(other, _)| *other == wire).unwrap().1;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut answer = None;
    let work = || {
        let run = async {
            let other = ModelServer::start(wire, Vec::new()).await;
            let mut config = config(&other, wire, name);
            config.base_url = Some(server.address.clone());
            let model = HttpModel::with_timeouts(config, timeouts).unwrap();
            let stream = crate::support::start(&model, vec![crate::support::user("hi")]).await;
            futures::StreamExt::fold(stream, None, async |_, item| Some(item)).await
        };
        answer = runtime.block_on(run);
    };
    let used = allocation_counter::measure(work).bytes_max;
    assert!(used <= MEMORY, "{wire:?}: {} MiB", used / 1024 / 1024);
    answer.unwrap()
}

fn all() -> impl Iterator<Item = WireFormat> {
    DIALECTS.iter().chain(&NATIVE).map(|(wire, _)| *wire)
}

/// Encodes an event in the framing of a dialect.
fn event(wire: WireFormat, data: &str) -> String {
    match wire {
        WireFormat::Ollama => format!("{data}\n"),
        _ => format!("data: {data}\n\n"),
    }
}

/// Returns the events that begin a call, an event with a piece of its arguments, and the events that end it.
fn call(wire: WireFormat, piece: &str) -> [String; 3] {
    let piece = serde_json::to_string(piece).unwrap();
    let all: [&[String]; 3] = match wire {
        WireFormat::Anthropic => [
            &[
                r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}"#.into(),
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"weather","input":{}}}"#.into(),
            ],
            &[format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{piece}}}}}"#)],
            &[
                r#"{"type":"content_block_stop","index":0}"#.into(),
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#.into(),
                r#"{"type":"message_stop"}"#.into(),
            ],
        ],
        WireFormat::OpenAiChat => [
            &[r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"weather","arguments":""}}]}}]}"#.into()],
            &[format!(r#"{{"id":"c","model":"m","choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":{piece}}}}}]}}}}]}}"#)],
            &[r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.into(), "[DONE]".into()],
        ],
        WireFormat::OpenAiResponses => [
            &[
                r#"{"type":"response.created","response":{"id":"r","output":[],"status":"in_progress"}}"#.into(),
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"t","name":"weather","arguments":"","status":"in_progress"}}"#.into(),
            ],
            &[format!(r#"{{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":{piece}}}"#)],
            &[r#"{"type":"response.incomplete","response":{"id":"r","output":[],"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#.into()],
        ],
        WireFormat::Gemini => [
            &[],
            &[format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"functionCall":{{"name":"weather","args":{piece}}}}}]}}}}]}}"#)],
            &[r#"{"candidates":[{"finishReason":"STOP"}]}"#.into()],
        ],
        WireFormat::Ollama => [
            &[],
            &[format!(r#"{{"model":"m","message":{{"role":"assistant","content":"","tool_calls":[{{"function":{{"name":"weather","arguments":{piece}}}}}]}},"done":false}}"#)],
            &[r#"{"model":"m","done":true,"done_reason":"stop"}"#.into()],
        ],
    };
    all.map(|events| events.iter().map(|data| event(wire, data)).collect())
}

fn text(wire: WireFormat, text: &str) -> String {
    let data = match wire {
        WireFormat::Anthropic => {
            format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
            )
        }
        WireFormat::OpenAiChat => {
            format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
        }
        WireFormat::OpenAiResponses => {
            format!(
                r#"{{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"{text}"}}"#
            )
        }
        WireFormat::Gemini => {
            format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":"{text}"}}]}}}}]}}"#)
        }
        WireFormat::Ollama => {
            format!(r#"{{"model":"m","message":{{"role":"assistant","content":"{text}"}},"done":false}}"#)
        }
    };
    event(wire, &data)
}

/// Returns the events before the first text.
fn text_start(wire: WireFormat) -> String {
    let [start, ..] = call(wire, "");
    match wire {
        WireFormat::Anthropic => start.replace(
            r#""type":"tool_use","id":"t","name":"weather","input":{}"#,
            r#""type":"text","text":"""#,
        ),
        WireFormat::OpenAiResponses => start.replace(
            r#""type":"function_call","id":"f","call_id":"t","name":"weather","arguments":"""#,
            r#""type":"message","id":"i","role":"assistant","content":[]"#,
        ),
        _ => String::new(),
    }
}

#[track_caller]
fn check(wire: WireFormat, says: &str, pieces: impl Iterator<Item = String> + Send + 'static) {
    let error = run_flood(wire, "", impatient(), pieces);
    assert_eq!(error.kind, ModelErrorKind::Rejected, "{wire:?}: {error}");
    assert!(error.message.contains(says), "{wire:?}: {error}");
    assert!(error.message.contains("send the prompt again, or choose another model"), "{wire:?}: {error}");
}

#[test]
fn nested_brackets_in_arguments_need_little_memory() {
    let pieces =
        |(wire, _): &(WireFormat, &str)| [(40_000, 1), (100, 400), (1, 40_000)].map(|pieces| (*wire, pieces));
    let streamed = DIALECTS.iter().flat_map(pieces);
    // The others send complete arguments.
    let native = NATIVE.iter().map(|(wire, _)| (*wire, (40_000, 1)));
    for (wire, (size, count)) in streamed.chain(native) {
        let [start, piece, end] = call(wire, &"[".repeat(size));
        let pieces = std::iter::once(start).chain(std::iter::repeat_n(piece, count)).chain([end]);
        let ModelEvent::Done(answer) = run(wire, "", impatient(), pieces).unwrap() else {
            panic!("no answer");
        };
        let AssistantBlock::ToolCall(call) = &answer.content[0] else { panic!("no call") };
        assert_eq!(call.args, wrap_invalid_args(&"[".repeat(40_000)));
    }
}

#[test]
fn endless_text_is_rejected() {
    for wire in all() {
        let pieces =
            std::iter::once(text_start(wire)).chain(std::iter::repeat(text(wire, &"a".repeat(1_000))));
        check(wire, "the answer has more than 4 MiB of content", pieces);
    }
}

#[test]
fn endless_arguments_are_rejected() {
    for (wire, _) in DIALECTS {
        let [start, ..] = call(wire, "");
        let [_, first, _] = call(wire, r#"{"text":""#);
        let [_, piece, _] = call(wire, &"a ".repeat(500));
        let pieces = [start, first].into_iter().chain(std::iter::repeat(piece));
        check(wire, "the answer has more than 4 MiB of content", pieces);
    }
}

#[test]
fn events_without_end_are_rejected() {
    for wire in all() {
        let start = if wire == WireFormat::Ollama { "{\"model\":\"" } else { "data: {\"model\":\"" };
        let pieces = std::iter::once(start.to_owned()).chain(std::iter::repeat("a".repeat(64 * 1024)));
        check(wire, "an event is longer than 4 MiB", pieces);
        if wire != WireFormat::Ollama {
            let lines = std::iter::repeat("data: [\n".repeat(8 * 1024));
            check(wire, "an event is longer than 4 MiB", lines);
        }
    }
}

#[test]
fn a_million_small_objects_are_rejected() {
    for wire in all() {
        let objects = vec!["{}"; 1_000_000].join(",");
        let data =
            format!(r#"{{"type":"x","choices":[{objects}],"candidates":[{{}}],"message":{{"content":""}}}}"#);
        check(wire, "an event has more than 50000 values", std::iter::once(event(wire, &data)));
        let nested = format!(r#"{{"type":"x","choices":{}}}"#, "[".repeat(2_000));
        check(wire, "an event is nested more than 100 levels deep", std::iter::once(event(wire, &nested)));
    }
}

#[test]
fn a_million_blocks_are_rejected() {
    for (wire, _) in DIALECTS {
        let [start, ..] = call(wire, "");
        let (first, second) = start.trim_end().rsplit_once("\n\n").unwrap_or(("", start.trim_end()));
        let (first, second) = (format!("{first}\n\n"), format!("{second}\n\n"));
        let pieces = std::iter::once(first).chain((0..1_000_000).map(move |index| {
            second
                .replace(r#""index":0,"id":"t""#, &format!(r#""index":{index},"id":"t{index}""#))
                .replace(r#""index":0,"content"#, &format!(r#""index":{index},"content"#))
                .replace(r#""output_index":0"#, &format!(r#""output_index":{index}"#))
        }));
        check(wire, "the answer has more than 1024 texts and tool calls", pieces);
    }
}

#[test]
fn requests_have_an_overall_deadline() {
    let mut timeouts = impatient();
    timeouts.request = Duration::from_millis(1_500);
    // Comments keep the connection active, and so do slow headers.
    for head in ["", "HTTP/1.1 200 OK\r\n"] {
        let piece = if head.is_empty() { ": working\n\n" } else { "x-slow: 1\r\n" };
        let pieces = std::iter::repeat(piece.to_owned()).inspect(|_| {
            // sleep: the delay of the server
            std::thread::sleep(Duration::from_millis(100));
        });
        let start = Instant::now();
        let error = run_flood(WireFormat::Anthropic, head, timeouts, pieces);
        assert_eq!(error.kind, ModelErrorKind::Connection, "{error}");
        assert!(error.message.contains("did not complete its answer within 1 seconds"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn long_answers_are_complete() {
    use haft_test_support::model_server::Scenario;
    let code = "fn main() { let [a, b] = [\"{[\", '\\u{1b}[31m'];\n".repeat(200);
    let args = serde_json::json!({ "city": code }).to_string();
    for wire in all() {
        let scenario = Scenario::new().say("x[{".repeat(2_000)).tool("t", "weather", &args).cut_every(4_096);
        let server = ModelServer::start(wire, vec![scenario]).await;
        let (_, answer) = ask(&crate::support::model(&server, wire), "hi").await;
        answer.unwrap_or_else(|error| panic!("{wire:?}: {error}"));
    }
}
