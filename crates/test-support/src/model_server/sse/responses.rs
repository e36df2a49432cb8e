//! OpenAI Responses.

use serde_json::{Value, json};

use super::{ARGS_PIECE, TEXT_PIECE, push_named_event, split_pieces};
use crate::model_server::{AnswerBlock, AnswerFault, Scenario};

pub(super) fn body(model: &str, scenario: &Scenario) -> String {
    let mut stream = EventStreamBuilder { out: String::new(), sequence: 0 };
    let started = response_object(model, "in_progress", &[], &Value::Null);
    stream.push(json!({"type": "response.created", "response": started}));
    stream.push(json!({"type": "response.in_progress", "response": started}));
    let mut items = Vec::new();
    for (index, block) in scenario.blocks.iter().enumerate() {
        items.push(stream.block(index, block));
    }
    match &scenario.fault {
        None => {
            let (kind, status) = match scenario.stop {
                Some(_) => ("response.incomplete", "incomplete"),
                None => ("response.completed", "completed"),
            };
            let finished = response_object(model, status, &items, &usage(scenario));
            stream.push(json!({"type": kind, "response": finished}));
        }
        Some(AnswerFault::ErrorEvent { code, message }) => {
            stream.push(json!({"type": "error", "code": code, "message": message, "param": null}));
        }
        Some(_) => {}
    }
    stream.out
}

struct EventStreamBuilder {
    out: String,
    sequence: u64,
}

impl EventStreamBuilder {
    fn push(&mut self, mut event: Value) {
        event["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        push_named_event(&mut self.out, &event);
    }

    fn block(&mut self, index: usize, block: &AnswerBlock) -> Value {
        match block {
            AnswerBlock::Text(text) => self.text(index, text),
            AnswerBlock::Thinking { text, signature } => self.thinking(index, text, signature),
            AnswerBlock::Tool { id, name, args } => self.tool(index, [id, name, args]),
        }
    }

    fn text(&mut self, index: usize, text: &str) -> Value {
        let id = format!("msg_{index}");
        let item = |status: &str, content: Value| json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content});
        let part =
            |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        self.push_item_added(index, &item("in_progress", json!([])));
        let at = json!({"item_id": id, "output_index": index, "content_index": 0});
        self.push(merge_event(&at, json!({"type": "response.content_part.added", "part": part("")})));
        for piece in split_pieces(text, TEXT_PIECE) {
            self.push(merge_event(
                &at,
                json!({"type": "response.output_text.delta", "delta": piece, "logprobs": []}),
            ));
        }
        self.push(merge_event(
            &at,
            json!({"type": "response.output_text.done", "text": text, "logprobs": []}),
        ));
        self.push(merge_event(&at, json!({"type": "response.content_part.done", "part": part(text)})));
        self.push_item_done(index, item("completed", json!([part(text)])))
    }

    fn thinking(&mut self, index: usize, text: &str, signature: &str) -> Value {
        let id = format!("rs_{index}");
        let item = |summary: Value| json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": signature});
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        self.push_item_added(index, &item(json!([])));
        let at = json!({"item_id": id, "output_index": index, "summary_index": 0});
        self.push(merge_event(
            &at,
            json!({"type": "response.reasoning_summary_part.added", "part": part("")}),
        ));
        for piece in split_pieces(text, TEXT_PIECE) {
            let delta = json!({"type": "response.reasoning_summary_text.delta", "delta": piece});
            self.push(merge_event(&at, delta));
        }
        self.push(merge_event(&at, json!({"type": "response.reasoning_summary_text.done", "text": text})));
        self.push(merge_event(
            &at,
            json!({"type": "response.reasoning_summary_part.done", "part": part(text)}),
        ));
        self.push_item_done(index, item(json!([part(text)])))
    }

    fn tool(&mut self, index: usize, [call_id, name, args]: [&String; 3]) -> Value {
        let id = format!("fc_{index}");
        let item = |status: &str, args: &str| {
            json!({"id": id, "type": "function_call", "status": status, "call_id": call_id,
                "name": name, "arguments": args})
        };
        self.push_item_added(index, &item("in_progress", ""));
        let at = json!({"item_id": id, "output_index": index});
        for piece in split_pieces(args, ARGS_PIECE) {
            let delta = json!({"type": "response.function_call_arguments.delta", "delta": piece});
            self.push(merge_event(&at, delta));
        }
        let done = json!({"type": "response.function_call_arguments.done", "arguments": args, "name": name});
        self.push(merge_event(&at, done));
        self.push_item_done(index, item("completed", args))
    }

    fn push_item_added(&mut self, index: usize, item: &Value) {
        self.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
    }

    fn push_item_done(&mut self, index: usize, item: Value) -> Value {
        self.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        item
    }
}

fn merge_event(at: &Value, mut event: Value) -> Value {
    if let (Some(event), Some(at)) = (event.as_object_mut(), at.as_object()) {
        event.extend(at.clone());
    }
    event
}

fn response_object(model: &str, status: &str, items: &[Value], usage: &Value) -> Value {
    let details = if status == "incomplete" { json!({"reason": "max_output_tokens"}) } else { Value::Null };
    json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": model,
        "output": items, "error": null, "incomplete_details": details, "usage": usage,
        "parallel_tool_calls": true, "tools": []})
}

fn usage(scenario: &Scenario) -> Value {
    let tokens = scenario.tokens;
    let input = tokens.input + tokens.cache_read;
    json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + tokens.output})
}
