//! Rejects requests whose transcript a provider would reject.
//!
//! The checks are stricter than the providers where an agent should know better (two assistant messages in a row). They
//! ignore everything outside the transcript.

mod anthropic;
mod chat;
mod native;
mod responses;

use serde_json::Value;

use super::WireFormat;

/// Checks the transcript of one request.
///
/// # Errors
/// Returns the first mistake and its location.
pub(super) fn check(wire: WireFormat, body: &Value) -> Result<(), String> {
    match wire {
        WireFormat::Anthropic => anthropic::check(body),
        WireFormat::OpenAiChat => chat::check(body),
        WireFormat::OpenAiResponses => responses::check(body),
        WireFormat::Gemini => native::check_gemini(body),
        WireFormat::Ollama => native::check_ollama(body),
    }
}

/// Returns a list that exists and is not empty.
fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], String> {
    match value.get(key).and_then(Value::as_array) {
        Some(list) if !list.is_empty() => Ok(list),
        Some(_) => Err(format!("{key} is empty")),
        None => Err(format!("{key} is missing or not a list")),
    }
}

/// Returns a text that exists and is not blank.
fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    match value.get(key).and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => Ok(text),
        Some(_) => Err(format!("{key} is blank")),
        None => Err(format!("{key} is missing or not a text")),
    }
}

/// Checks content: a text, or a list of blocks with texts that are not blank.
fn content(message: &Value) -> Result<(), String> {
    match message.get("content") {
        Some(Value::String(_)) => text(message, "content").map(drop),
        Some(Value::Array(_)) => list(message, "content")?.iter().try_for_each(|block| {
            let texts = ["text", "input_text", "output_text"];
            match block.get("type").and_then(Value::as_str) {
                Some(kind) if texts.contains(&kind) => text(block, "text").map(drop),
                Some(_) => Ok(()),
                None => Err("a block without a type".to_owned()),
            }
        }),
        Some(_) | None => Err("content is missing".to_owned()),
    }
}

/// Calls that wait for their results; each call gets exactly one.
#[derive(Default)]
struct PendingCalls {
    seen: std::collections::HashSet<String>,
    open: Vec<String>,
}

impl PendingCalls {
    fn call(&mut self, id: &str) -> Result<(), String> {
        if !self.seen.insert(id.to_owned()) {
            return Err(format!("duplicate call {id}"));
        }
        self.open.push(id.to_owned());
        Ok(())
    }

    fn result(&mut self, id: &str) -> Result<(), String> {
        let Some(at) = self.open.iter().position(|open| open == id) else {
            return Err(format!("a result of {id}, which is not an open call of the previous message"));
        };
        self.open.remove(at);
        Ok(())
    }

    fn all_answered(&self) -> Result<(), String> {
        match self.open.as_slice() {
            [] => Ok(()),
            open => Err(format!("no result directly after the calls {}", open.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks the mistake in a transcript, or that there is none. The fields that all formats share have one name here.
    #[track_caller]
    fn fault(wire: WireFormat, messages: Value, expect: &str) {
        let key = if wire == WireFormat::OpenAiResponses { "input" } else { "messages" };
        let found = check(wire, &json!({ key: messages })).err().unwrap_or_default();
        assert!(found.contains(expect) && found.is_empty() == expect.is_empty(), "{found:?}");
    }

    #[test]
    fn checks_anthropic_transcripts() {
        let user = json!({"role": "user", "content": "hi"});
        let said = json!({"role": "assistant", "content": [{"type": "text", "text": "hello"}]});
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
        let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
        let calls = json!({"role": "assistant", "content": [call("a"), call("b")]});
        let results =
            json!({"role": "user", "content": [result("a"), result("b"), {"type": "text", "text": "go on"}]});
        let check = |messages, expect| fault(WireFormat::Anthropic, messages, expect);
        check(json!([user, said, user]), "");
        check(json!([user, calls, results, said, user]), "");
        check(json!([]), "messages is empty");
        check(json!([said, user]), "begins with");
        check(json!([user, said]), "ends with");
        check(json!([user, said, said, user]), "two answers");
        check(json!([user, calls, user]), "no result directly after the calls a, b");
        check(json!([user, calls, {"role": "user", "content": [result("a")]}]), "the calls b");
        check(
            json!([user, calls, {"role": "user", "content": [result("a"), result("a"), result("b")]}]),
            "a result of a",
        );
        check(
            json!([user, calls, {"role": "user", "content": [{"type": "text", "text": "x"}, result("a"), result("b")]}]),
            "precedes a tool result",
        );
        check(json!([user, calls, results, calls, results]), "duplicate call a");
        check(json!([{"role": "user", "content": [{"type": "text", "text": " "}]}]), "blank");
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        check(json!([user, {"role": "assistant", "content": [thinking]}, user]), "ends with thinking");
        let unsigned = json!({"type": "thinking", "thinking": "hm"});
        check(
            json!([user, {"role": "assistant", "content": [unsigned, {"type": "text", "text": "x"}]}, user]),
            "signature is missing",
        );
    }

    #[test]
    fn checks_chat_transcripts() {
        let user = json!({"role": "user", "content": "hi"});
        let said = json!({"role": "assistant", "content": "hello"});
        let call =
            |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
        let calls = json!({"role": "assistant", "tool_calls": [call("a"), call("b")]});
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
        let check = |messages, expect| fault(WireFormat::OpenAiChat, messages, expect);
        check(json!([{"role": "system", "content": "s"}, user, calls, result("a"), result("b"), user]), "");
        check(json!([said, user]), "begins with");
        check(json!([user, said]), "ends with");
        check(json!([user, calls, result("a"), user]), "the calls b");
        check(json!([user, calls, result("a"), result("b"), result("b")]), "a result of b");
        check(json!([user, {"role": "assistant", "content": ""}, user]), "neither");
        check(json!([user, result("a")]), "a result of a");
    }

    #[test]
    fn checks_responses_transcripts() {
        let user = json!({"role": "user", "content": [{"type": "input_text", "text": "hi"}]});
        let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]});
        let call = json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"});
        let output = json!({"type": "function_call_output", "call_id": "a", "output": "x"});
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        let check = |messages, expect| fault(WireFormat::OpenAiResponses, messages, expect);
        check(json!([user, reasoning, call, output, said, user]), "");
        check(json!([said, user]), "begins with");
        check(json!([user, said]), "ends with");
        check(json!([user, call, user]), "the calls a");
        check(json!([user, call, output, output]), "a result of a");
        check(json!([user, reasoning, user]), "nothing after its reasoning");
    }
}
