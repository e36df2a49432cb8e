//! Anthropic Messages: the results come first in the message after their calls.

use serde_json::Value;

use super::{PendingCalls, content, list, text};

pub(super) fn check(body: &Value) -> Result<(), String> {
    let mut transcript = AnthropicTranscript { calls: PendingCalls::default(), last: "" };
    for (index, message) in list(body, "messages")?.iter().enumerate() {
        transcript.check_message(message).map_err(|fault| format!("messages[{index}]: {fault}"))?;
    }
    transcript.calls.all_answered()?;
    match transcript.last {
        "user" => Ok(()),
        _ => Err("the transcript ends with an answer".to_owned()),
    }
}

struct AnthropicTranscript<'a> {
    calls: PendingCalls,
    last: &'a str,
}

impl<'a> AnthropicTranscript<'a> {
    fn check_message(&mut self, message: &'a Value) -> Result<(), String> {
        content(message)?;
        let role = text(message, "role")?;
        let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match (role, self.last) {
            ("user", _) => self.check_user(blocks)?,
            ("assistant", "user") => self.check_assistant(blocks)?,
            ("assistant", "") => return Err("the transcript begins with an answer".to_owned()),
            ("assistant", _) => return Err("two answers in a row".to_owned()),
            (other, _) => return Err(format!("unexpected role {other}")),
        }
        self.last = role;
        Ok(())
    }

    fn check_user(&mut self, blocks: &[Value]) -> Result<(), String> {
        let mut other = false;
        for block in blocks {
            if kind(block) != "tool_result" {
                other = true;
                continue;
            }
            if other {
                return Err("another block precedes a tool result".to_owned());
            }
            self.calls.result(text(block, "tool_use_id")?)?;
            content(block)?;
            let parts = block.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if block.get("is_error") == Some(&Value::Bool(true))
                && parts.iter().any(|part| kind(part) != "text")
            {
                return Err("the result of a failed call has a block that is not text".to_owned());
            }
        }
        self.calls.all_answered()
    }

    fn check_assistant(&mut self, blocks: &[Value]) -> Result<(), String> {
        for block in blocks {
            match kind(block) {
                "tool_use" => {
                    let id = text(block, "id")?;
                    if !id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                        return Err(format!("{id:?} is not a valid call id"));
                    }
                    text(block, "name")?;
                    if !block.get("input").is_some_and(Value::is_object) {
                        return Err("the input of a call is not an object".to_owned());
                    }
                    self.calls.call(id)?;
                }
                "thinking" => drop(text(block, "signature")?),
                "text" | "redacted_thinking" => {}
                other => return Err(format!("unexpected block type {other:?}")),
            }
        }
        match blocks.last().map(kind) {
            Some("thinking" | "redacted_thinking") => Err("an answer ends with thinking".to_owned()),
            Some(_) | None => Ok(()),
        }
    }
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}
