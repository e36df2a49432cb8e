//! OpenAI Responses: one list of items, in which calls and their outputs are separate items.

use serde_json::Value;

use super::{PendingCalls, content, list, text};

pub(super) fn check(body: &Value) -> Result<(), String> {
    if body.get("input").is_some_and(Value::is_string) {
        return text(body, "input").map(drop);
    }
    let mut calls = PendingCalls::default();
    let mut last = "";
    for (index, item) in list(body, "input")?.iter().enumerate() {
        let kind = kind(item);
        check_item(item, kind, last, &mut calls).map_err(|fault| format!("input[{index}]: {fault}"))?;
        last = kind;
    }
    calls.all_answered()?;
    match last {
        "user" | "function_call_output" => Ok(()),
        _ => Err("the transcript ends with an answer".to_owned()),
    }
}

/// Returns the kind of an item: a message by its role, any other by its type.
fn kind(item: &Value) -> &str {
    let named = |key| item.get(key).and_then(Value::as_str);
    match named("type") {
        Some("message") | None => named("role").unwrap_or_default(),
        Some(kind) => kind,
    }
}

fn check_item(item: &Value, kind: &str, last: &str, calls: &mut PendingCalls) -> Result<(), String> {
    if last == "reasoning" && !matches!(kind, "assistant" | "function_call" | "reasoning") {
        return Err("an answer has nothing after its reasoning".to_owned());
    }
    if matches!(kind, "user" | "assistant") {
        calls.all_answered()?;
    }
    let begun = !matches!(last, "" | "system" | "developer");
    match kind {
        "system" | "developer" if !begun => content(item),
        "user" => content(item),
        "assistant" | "reasoning" | "function_call" if !begun => {
            Err("the transcript begins with an answer".to_owned())
        }
        "assistant" => content(item),
        "reasoning" => Ok(()),
        "function_call" => {
            text(item, "name")?;
            let args = text(item, "arguments")?;
            serde_json::from_str::<Value>(args)
                .map_err(|error| format!("the arguments of a call are not JSON: {error}"))?;
            calls.call(text(item, "call_id")?)
        }
        "function_call_output" => calls.result(text(item, "call_id")?),
        other => Err(format!("unexpected item {other:?}")),
    }
}
