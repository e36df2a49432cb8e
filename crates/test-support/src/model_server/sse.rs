//! Encodes scenarios as event streams, with one module for each format.

mod anthropic;
mod chat;
mod gemini;
mod ollama;
mod responses;

use serde_json::{Value, json};

use super::{Scenario, WireFormat};

/// The length in characters of streamed pieces of text; odd, so that escapes in tool arguments are split.
const TEXT_PIECE: usize = 5;
const ARGS_PIECE: usize = 3;

/// Returns the complete event stream of a scenario, up to its fault.
pub(super) fn stream_body(wire: WireFormat, model: &str, scenario: &Scenario) -> String {
    match wire {
        WireFormat::Anthropic => anthropic::body(model, scenario),
        WireFormat::OpenAiChat => chat::body(model, scenario),
        WireFormat::OpenAiResponses => responses::body(model, scenario),
        WireFormat::Gemini => gemini::body(model, scenario),
        WireFormat::Ollama => ollama::body(model, scenario),
    }
}

/// Returns the body of a failed request.
pub(super) fn error_body(wire: WireFormat, code: &str, message: &str) -> String {
    match wire {
        WireFormat::Anthropic => json!({"type": "error", "error": {"type": code, "message": message}}),
        // The HTTP code is omitted; the client has it from the status line.
        WireFormat::Gemini => json!({"error": {"message": message, "status": code.to_uppercase()}}),
        WireFormat::Ollama => json!({ "error": message }),
        WireFormat::OpenAiChat | WireFormat::OpenAiResponses => {
            json!({"error": {"message": message, "type": code, "param": null, "code": code}})
        }
    }
    .to_string()
}

/// Appends an event with a name, as Anthropic and Responses send it; the name is the data's `type`.
fn push_named_event(out: &mut String, data: &Value) {
    let name = data.get("type").and_then(Value::as_str).unwrap_or("message");
    out.push_str(&format!("event: {name}\ndata: {data}\n\n"));
}

fn split_pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
