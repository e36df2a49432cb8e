//! Ollama's own /api/chat: one line of JSON for each event.

use serde_json::{Value, json};

use super::{TEXT_PIECE, split_pieces};
use crate::model_server::{AnswerBlock, AnswerFault, Scenario};

pub(super) fn body(model: &str, scenario: &Scenario) -> String {
    let mut out = String::new();
    for message in scenario.blocks.iter().flat_map(messages) {
        line(&mut out, &json!({"model": model, "created_at": "T", "message": message, "done": false}));
    }
    match &scenario.fault {
        None => end(&mut out, model, scenario),
        Some(AnswerFault::ErrorEvent { message, .. }) => line(&mut out, &json!({ "error": message })),
        Some(_) => {}
    }
    out
}

/// Streams text in pieces and a call as a whole, as Ollama does.
fn messages(block: &AnswerBlock) -> Vec<Value> {
    let said = |field: &'static str, text: &str| -> Vec<Value> {
        let message = |piece: String| {
            let mut message = json!({"role": "assistant", "content": ""});
            message[field] = json!(piece);
            message
        };
        split_pieces(text, TEXT_PIECE).into_iter().map(message).collect()
    };
    match block {
        AnswerBlock::Text(text) => said("content", text),
        AnswerBlock::Thinking { text, .. } => said("thinking", text),
        AnswerBlock::Tool { name, args, .. } => {
            let args: Value = serde_json::from_str(args).unwrap_or_default();
            let call = json!({"function": {"name": name, "arguments": args}});
            vec![json!({"role": "assistant", "content": "", "tool_calls": [call]})]
        }
    }
}

fn end(out: &mut String, model: &str, scenario: &Scenario) {
    let reason = if scenario.stop.is_some() { "length" } else { "stop" };
    let tokens = scenario.tokens;
    let message = json!({"role": "assistant", "content": ""});
    line(
        out,
        &json!({"model": model, "created_at": "T", "message": message, "done": true, "done_reason": reason,
            "prompt_eval_count": tokens.input + tokens.cache_read,
            "prompt_eval_cached_count": tokens.cache_read, "eval_count": tokens.output}),
    );
}

fn line(out: &mut String, value: &Value) {
    out.push_str(&format!("{value}\n"));
}
