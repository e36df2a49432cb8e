//! OpenAI Chat Completions: each result is a separate message directly after the calls.

use serde_json::Value;

use super::{PendingCalls, content, list, text};

pub(super) fn check(body: &Value) -> Result<(), String> {
    let mut calls = PendingCalls::default();
    let mut last = "";
    for (index, message) in list(body, "messages")?.iter().enumerate() {
        let role = text(message, "role")?;
        check_message(message, role, last, &mut calls)
            .map_err(|fault| format!("messages[{index}]: {fault}"))?;
        last = role;
    }
    calls.all_answered()?;
    match last {
        "user" | "tool" => Ok(()),
        _ => Err("the transcript ends with an answer".to_owned()),
    }
}

fn check_message(message: &Value, role: &str, last: &str, calls: &mut PendingCalls) -> Result<(), String> {
    if role != "tool" {
        calls.all_answered()?;
    }
    match (role, last) {
        ("system" | "developer", "" | "system" | "developer") | ("user", _) => content(message),
        ("tool", _) => {
            calls.result(text(message, "tool_call_id")?)?;
            content(message)
        }
        ("assistant", "user" | "tool") => check_assistant(message, calls),
        ("assistant", "assistant") => Err("two answers in a row".to_owned()),
        ("assistant", _) => Err("the transcript begins with an answer".to_owned()),
        (other, _) => Err(format!("unexpected role {other}")),
    }
}

fn check_assistant(message: &Value, calls: &mut PendingCalls) -> Result<(), String> {
    let called = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if called.is_empty() && content(message).is_err() {
        return Err("an answer with neither text nor calls".to_owned());
    }
    for call in called {
        let function = call.get("function").ok_or("a call without a function")?;
        text(function, "name")?;
        let args: Value = serde_json::from_str(text(function, "arguments")?)
            .map_err(|error| format!("the arguments of a call are not JSON: {error}"))?;
        if !args.is_object() {
            return Err("the arguments of a call are not an object".to_owned());
        }
        calls.call(text(call, "id")?)?;
    }
    Ok(())
}
