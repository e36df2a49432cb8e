//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{ARGS_PIECE, TEXT_PIECE, split_pieces};
use crate::model_server::{AnswerBlock, AnswerFault, Scenario};

pub(super) fn body(model: &str, scenario: &Scenario) -> String {
    let mut out = String::new();
    push_chunk(&mut out, model, &json!({"role": "assistant", "content": ""}), None);
    let mut calls = 0;
    for block in &scenario.blocks {
        for delta in deltas(block, calls) {
            push_chunk(&mut out, model, &delta, None);
        }
        calls += usize::from(matches!(block, AnswerBlock::Tool { .. }));
    }
    match &scenario.fault {
        None => end(&mut out, model, scenario),
        Some(AnswerFault::ErrorEvent { code, message }) => {
            push_data(
                &mut out,
                &json!({"error": {"message": message, "type": code, "param": null, "code": code}}),
            );
        }
        Some(_) => {}
    }
    out
}

fn deltas(block: &AnswerBlock, index: usize) -> Vec<Value> {
    match block {
        AnswerBlock::Text(text) => {
            split_pieces(text, TEXT_PIECE).into_iter().map(|piece| json!({"content": piece})).collect()
        }
        AnswerBlock::Thinking { text, .. } => split_pieces(text, TEXT_PIECE)
            .into_iter()
            .map(|piece| json!({"reasoning_content": piece}))
            .collect(),
        AnswerBlock::Tool { id, name, args } => {
            let start = json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": ""}}]});
            let rest = split_pieces(args, ARGS_PIECE)
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
    push_chunk(out, model, &json!({}), Some(reason));
    let tokens = scenario.tokens;
    let prompt = tokens.input + tokens.cache_read;
    push_data(
        out,
        &json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": tokens.output,
                "total_tokens": prompt + tokens.output,
                "prompt_tokens_details": {"cached_tokens": tokens.cache_read}}}),
    );
    out.push_str("data: [DONE]\n\n");
}

fn push_chunk(out: &mut String, model: &str, delta: &Value, reason: Option<&str>) {
    push_data(
        out,
        &json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}),
    );
}

fn push_data(out: &mut String, value: &Value) {
    out.push_str(&format!("data: {value}\n\n"));
}
