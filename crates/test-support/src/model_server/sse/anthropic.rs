//! Anthropic Messages.

use serde_json::{Value, json};

use super::{ARGS_PIECE, TEXT_PIECE, push_named_event, split_pieces};
use crate::model_server::{AnswerBlock, AnswerFault, Scenario};

pub(super) fn body(model: &str, scenario: &Scenario) -> String {
    let mut out = String::new();
    let tokens = scenario.tokens;
    push_named_event(
        &mut out,
        &json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": tokens.input, "output_tokens": 1,
                "cache_read_input_tokens": tokens.cache_read,
                "cache_creation_input_tokens": tokens.cache_write},
        }}),
    );
    push_named_event(&mut out, &json!({"type": "ping"}));
    for (index, block) in scenario.blocks.iter().enumerate() {
        let (start, deltas) = parts(block);
        push_named_event(
            &mut out,
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        );
        for delta in deltas {
            push_named_event(
                &mut out,
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            );
        }
        push_named_event(&mut out, &json!({"type": "content_block_stop", "index": index}));
    }
    match &scenario.fault {
        None => end(&mut out, scenario),
        Some(AnswerFault::ErrorEvent { code, message }) => {
            push_named_event(
                &mut out,
                &json!({"type": "error", "error": {"type": code, "message": message}}),
            );
        }
        Some(_) => {}
    }
    out
}

fn parts(block: &AnswerBlock) -> (Value, Vec<Value>) {
    match block {
        AnswerBlock::Text(text) => {
            let deltas = split_pieces(text, TEXT_PIECE);
            let deltas = deltas.into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        AnswerBlock::Thinking { text, signature } => {
            let deltas = split_pieces(text, TEXT_PIECE);
            let deltas = deltas.into_iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let signature = json!({"type": "signature_delta", "signature": signature});
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                deltas.chain([signature]).collect(),
            )
        }
        AnswerBlock::Tool { id, name, args } => {
            let deltas = split_pieces(args, ARGS_PIECE);
            let deltas =
                deltas.into_iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect())
        }
    }
}

fn end(out: &mut String, scenario: &Scenario) {
    let reason = match scenario.stop {
        Some("length") => "max_tokens",
        Some(other) => other,
        None if scenario.calls_tools() => "tool_use",
        None => "end_turn",
    };
    push_named_event(
        out,
        &json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": scenario.tokens.output}}),
    );
    push_named_event(out, &json!({"type": "message_stop"}));
}
