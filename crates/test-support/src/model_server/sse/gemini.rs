//! Gemini's streamGenerateContent.

use serde_json::{Value, json};

use super::{TEXT_PIECE, split_pieces};
use crate::model_server::{AnswerBlock, AnswerFault, Scenario};

pub(super) fn body(model: &str, scenario: &Scenario) -> String {
    let mut out = String::new();
    for part in scenario.blocks.iter().flat_map(parts) {
        push_chunk(&mut out, model, json!({"content": {"role": "model", "parts": [part]}, "index": 0}), None);
    }
    match &scenario.fault {
        None => end(&mut out, model, scenario),
        Some(AnswerFault::ErrorEvent { code, message }) => {
            push_data(&mut out, &json!({"error": {"message": message, "status": code.to_uppercase()}}));
        }
        Some(_) => {}
    }
    out
}

/// Streams text in pieces and a call as a whole, as Gemini does.
fn parts(block: &AnswerBlock) -> Vec<Value> {
    match block {
        AnswerBlock::Text(text) => {
            split_pieces(text, TEXT_PIECE).into_iter().map(|piece| json!({ "text": piece })).collect()
        }
        AnswerBlock::Thinking { text, signature } => {
            let thought = |piece: String| json!({"text": piece, "thought": true});
            let mut parts: Vec<Value> = split_pieces(text, TEXT_PIECE).into_iter().map(thought).collect();
            if let Some(last) = parts.last_mut() {
                last["thoughtSignature"] = json!(signature);
            }
            parts
        }
        AnswerBlock::Tool { id, name, args } => {
            let args: Value = serde_json::from_str(args).unwrap_or_default();
            vec![json!({"functionCall": {"id": id, "name": name, "args": args}})]
        }
    }
}

fn end(out: &mut String, model: &str, scenario: &Scenario) {
    let reason = if scenario.stop.is_some() { "MAX_TOKENS" } else { "STOP" };
    let tokens = scenario.tokens;
    let prompt = tokens.input + tokens.cache_read;
    let usage = json!({"promptTokenCount": prompt, "candidatesTokenCount": tokens.output,
        "cachedContentTokenCount": tokens.cache_read, "totalTokenCount": prompt + tokens.output});
    let parts = json!([{"text": ""}]);
    let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0});
    push_chunk(out, model, candidate, Some(usage));
}

fn push_chunk(out: &mut String, model: &str, candidate: Value, usage: Option<Value>) {
    let mut value = json!({"candidates": [candidate], "modelVersion": model, "responseId": "r1"});
    if let Some(usage) = usage {
        value["usageMetadata"] = usage;
    }
    push_data(out, &value);
}

fn push_data(out: &mut String, value: &Value) {
    out.push_str(&format!("data: {value}\r\n\r\n"));
}
