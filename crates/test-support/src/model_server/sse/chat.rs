//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{ARGS_PIECE, TEXT_PIECE, pieces};
use crate::model_server::{Block, Fault, Scenario};

pub(super) fn body(model: &str, scenario: &Scenario) -> String {
    let mut out = String::new();
    chunk(&mut out, model, &json!({"role": "assistant", "content": ""}), None);
    let mut calls = 0;
    for block in &scenario.blocks {
        for delta in deltas(block, calls) {
            chunk(&mut out, model, &delta, None);
        }
        calls += usize::from(matches!(block, Block::Tool { .. }));
    }
    match &scenario.fault {
        None => end(&mut out, model, scenario),
        Some(Fault::ErrorEvent { code, message }) => {
            data(
                &mut out,
                &json!({"error": {"message": message, "type": code, "param": null, "code": code}}),
            );
        }
        Some(_) => {}
    }
    out
}

fn deltas(block: &Block, index: usize) -> Vec<Value> {
    match block {
        Block::Text(text) => {
            pieces(text, TEXT_PIECE).into_iter().map(|piece| json!({"content": piece})).collect()
        }
        Block::Thinking { text, .. } => {
            pieces(text, TEXT_PIECE).into_iter().map(|piece| json!({"reasoning_content": piece})).collect()
        }
        Block::Tool { id, name, args } => {
            let start = json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": ""}}]});
            let rest = pieces(args, ARGS_PIECE)
                .into_iter()
                .map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
            [start].into_iter().chain(rest).collect()
        }
    }
}

fn end(out: &mut String, model: &str, scenario: &Scenario) {
    let reason = match scenario.stop {
        Some(reason) => reason,
        None if scenario.calls_tools() => "tool_calls",
        None => "stop",
    };
    chunk(out, model, &json!({}), Some(reason));
    let tokens = scenario.tokens;
    let prompt = tokens.input + tokens.cache_read;
    data(
        out,
        &json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": tokens.output,
                "total_tokens": prompt + tokens.output,
                "prompt_tokens_details": {"cached_tokens": tokens.cache_read}}}),
    );
    out.push_str("data: [DONE]\n\n");
}

fn chunk(out: &mut String, model: &str, delta: &Value, reason: Option<&str>) {
    data(
        out,
        &json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}),
    );
}

fn data(out: &mut String, value: &Value) {
    out.push_str(&format!("data: {value}\n\n"));
}
