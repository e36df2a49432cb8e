//! Answers in the streaming format of each API: the few events that every client needs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::ModelAnswer;

/// The API that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamingApi {
    Messages,
    Chat,
    Responses,
    Gemini,
}

impl StreamingApi {
    /// Returns `None` for a path that is not a request for an answer.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            _ if path.ends_with("/messages") => Some(Self::Messages),
            _ if path.ends_with("/chat/completions") => Some(Self::Chat),
            _ if path.ends_with("/responses") => Some(Self::Responses),
            _ if path.ends_with(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    /// Returns the complete body.
    pub(super) fn encode_stream(self, said: &ModelAnswer) -> Vec<u8> {
        let events = match self {
            Self::Messages => messages_events(said),
            Self::Chat => chat_events(said),
            Self::Responses => responses_events(said),
            Self::Gemini => gemini_events(said),
        };
        let mut body = String::new();
        for event in &events {
            if let (Self::Messages | Self::Responses, Some(kind)) = (self, event["type"].as_str()) {
                let _ = writeln!(body, "event: {kind}");
            }
            let _ = write!(body, "data: {event}\n\n");
        }
        if self == Self::Chat {
            body.push_str("data: [DONE]\n\n");
        }
        body.into_bytes()
    }
}

fn messages_events(said: &ModelAnswer) -> Vec<Value> {
    let (block, delta, stop) = match said {
        ModelAnswer::Word(word) => {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": word}), "end_turn")
        }
        ModelAnswer::Call { number, tool, args } => (
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": args.to_string()}),
            "tool_use",
        ),
    };
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]
}

fn chat_events(said: &ModelAnswer) -> Vec<Value> {
    let (delta, reason) = match said {
        ModelAnswer::Word(word) => (json!({"role": "assistant", "content": word}), "stop"),
        ModelAnswer::Call { number, tool, args } => {
            let function = json!({"name": tool, "arguments": args.to_string()});
            let call = json!({"index": 0, "id": format!("call_{number}"), "type": "function",
                "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    let chunk = |choices: Value, usage: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "bench",
            "choices": choices, "usage": usage})
    };
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    vec![
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null),
        chunk(json!([]), usage),
    ]
}

fn responses_events(said: &ModelAnswer) -> Vec<Value> {
    let (added, mut between, done) = match said {
        ModelAnswer::Word(word) => word_item(word),
        ModelAnswer::Call { number, tool, args } => call_item(*number, tool, args),
    };
    let response = |status: &str, output: Value, usage: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "bench",
            "output": output, "usage": usage})
    };
    let usage = json!({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2});
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", json!([]), Value::Null)}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": added}),
    ];
    events.append(&mut between);
    let completed = response("completed", json!([done]), usage);
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": done}));
    events.push(json!({"type": "response.completed", "response": completed}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn word_item(word: &str) -> (Value, Vec<Value>, Value) {
    let item = |status: &str, content: Value| json!({"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": content});
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let event = |kind: &str, name: &str, value: Value| {
        let mut event = json!({"type": kind, "item_id": "msg_1", "output_index": 0, "content_index": 0});
        event[name] = value;
        event
    };
    let between = vec![
        event("response.content_part.added", "part", part("")),
        event("response.output_text.delta", "delta", json!(word)),
        event("response.output_text.done", "text", json!(word)),
        event("response.content_part.done", "part", part(word)),
    ];
    (item("in_progress", json!([])), between, item("completed", json!([part(word)])))
}

fn call_item(number: usize, tool: &str, args: &Value) -> (Value, Vec<Value>, Value) {
    let (id, args) = (format!("fc_{number}"), args.to_string());
    let item = |status: &str, args: &str| {
        json!({"id": id, "type": "function_call", "status": status, "call_id": format!("call_{number}"),
            "name": tool, "arguments": args})
    };
    let between = vec![
        json!({"type": "response.function_call_arguments.delta", "item_id": id, "output_index": 0,
            "delta": args}),
        json!({"type": "response.function_call_arguments.done", "item_id": id, "output_index": 0,
            "arguments": args}),
    ];
    (item("in_progress", ""), between, item("completed", &args))
}

fn gemini_events(said: &ModelAnswer) -> Vec<Value> {
    let part = match said {
        ModelAnswer::Word(word) => json!({ "text": word }),
        ModelAnswer::Call { tool, args, .. } => json!({"functionCall": {"name": tool, "args": args}}),
    };
    let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2});
    let content = json!({"role": "model", "parts": [part]});
    vec![json!({"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": usage, "modelVersion": "bench"})]
}
