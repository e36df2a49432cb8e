//! Reads the requests that the model server received, in the form of Chat Completions.

use haft_test_support::model_server::RecordedRequest;
use serde_json::Value;

/// Returns the texts of all messages of one role.
pub(crate) fn said(request: &RecordedRequest, role: &str) -> Vec<String> {
    let messages = request.body["messages"].as_array().unwrap();
    messages
        .iter()
        .filter(|message| message["role"] == role)
        .map(|message| text(&message["content"]))
        .collect()
}

/// Returns the system prompt.
pub(crate) fn system(request: &RecordedRequest) -> String {
    said(request, "system").join("\n")
}

/// Returns the arguments of all tool calls in the transcript.
pub(crate) fn called(request: &RecordedRequest) -> Vec<Value> {
    let messages = request.body["messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    calls.map(|call| serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap()).collect()
}

/// Returns the names of the offered tools.
pub(crate) fn offered(request: &RecordedRequest) -> Vec<String> {
    let tools = request.body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns a text, or the joined texts of a list of parts.
fn text(content: &Value) -> String {
    let parts = content.as_array().cloned().unwrap_or_default();
    let parts: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    content.as_str().map_or(parts, str::to_owned)
}
