//! Scenarios as server-sent events, one module a dialect.

mod anthropic;
mod chat;
mod gemini;
mod ollama;
mod responses;

use serde_json::{Value, json};

use super::{Scenario, Wire};

/// Pieces that text is streamed in, in characters; odd, so that escapes in tool arguments are split.
const TEXT_PIECE: usize = 5;
const ARGS_PIECE: usize = 3;

/// The whole event stream of a scenario, up to its fault.
pub(super) fn body(wire: Wire, model: &str, scenario: &Scenario) -> String {
    match wire {
        Wire::Anthropic => anthropic::body(model, scenario),
        Wire::OpenAiChat => chat::body(model, scenario),
        Wire::OpenAiResponses => responses::body(model, scenario),
        Wire::Gemini => gemini::body(model, scenario),
        Wire::Ollama => ollama::body(model, scenario),
    }
}

/// The body of a failed request.
pub(super) fn error_body(wire: Wire, code: &str, message: &str) -> String {
    match wire {
        Wire::Anthropic => json!({"type": "error", "error": {"type": code, "message": message}}),
        // The code of HTTP, which the client sees anyway, is left out.
        Wire::Gemini => json!({"error": {"message": message, "status": code.to_uppercase()}}),
        Wire::Ollama => json!({ "error": message }),
        Wire::OpenAiChat | Wire::OpenAiResponses => {
            json!({"error": {"message": message, "type": code, "param": null, "code": code}})
        }
    }
    .to_string()
}

/// An event with a name, as Anthropic and Responses send it; the name is the data's `type`.
fn named(out: &mut String, data: &Value) {
    let name = data.get("type").and_then(Value::as_str).unwrap_or("message");
    out.push_str(&format!("event: {name}\ndata: {data}\n\n"));
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
