//! Gemini and Ollama: results belong to calls by position, not by id.

use serde_json::Value;

use super::list;

/// The calls and results of one message.
struct TurnCounts {
    /// True if the model wrote the message.
    model: bool,
    calls: usize,
    results: usize,
}

pub(super) fn check_gemini(body: &Value) -> Result<(), String> {
    let turns = list(body, "contents")?.iter().map(|content| {
        let parts = list(content, "parts")?;
        let count = |field: &str| parts.iter().filter(|part| part.get(field).is_some()).count();
        let (calls, results) = (count("functionCall"), count("functionResponse"));
        Ok(TurnCounts { model: content["role"] == "model", calls, results })
    });
    check(turns.collect::<Result<_, String>>()?)
}

pub(super) fn check_ollama(body: &Value) -> Result<(), String> {
    let said = list(body, "messages")?.iter().filter(|message| message["role"] != "system");
    let turns = said.map(|message| TurnCounts {
        model: message["role"] == "assistant",
        calls: message["tool_calls"].as_array().map_or(0, Vec::len),
        results: usize::from(message["role"] == "tool"),
    });
    check(turns.collect())
}

fn check(turns: Vec<TurnCounts>) -> Result<(), String> {
    match (turns.first(), turns.last()) {
        (Some(first), _) if first.model => return Err("the transcript begins with the model".to_owned()),
        (_, Some(last)) if last.model => return Err("the transcript ends with the model".to_owned()),
        (Some(_), Some(_)) => {}
        (None, _) | (_, None) => return Err("there is no message".to_owned()),
    }
    let mut open = 0_usize;
    for turn in turns {
        if turn.results > open {
            return Err("a result without a call".to_owned());
        }
        open -= turn.results;
        if turn.results == 0 && open > 0 {
            return Err(format!("no result directly after {open} calls"));
        }
        open += turn.calls;
    }
    if open == 0 { Ok(()) } else { Err(format!("no result for {open} calls")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn fault(found: Result<(), String>, expect: &str) {
        let found = found.err().unwrap_or_default();
        assert!(found.contains(expect) && found.is_empty() == expect.is_empty(), "{found:?}");
    }

    #[test]
    fn results_must_follow_their_calls() {
        let part = |role: &str, part: Value| json!({"role": role, "parts": [part]});
        let user = part("user", json!({"text": "hi"}));
        let call = part("model", json!({"functionCall": {"name": "read"}}));
        let result = part("user", json!({"functionResponse": {"name": "read"}}));
        let check = |contents: Value, expect| fault(check_gemini(&json!({ "contents": contents })), expect);
        check(json!([user, call, result]), "");
        check(json!([user, call, user]), "no result directly after 1 calls");
        check(json!([user, result]), "a result without a call");
        check(json!([user, call]), "ends with the model");
        check(json!([]), "contents is empty");
        let message = |role: &str| json!({"role": role, "content": "x"});
        let call = json!({"role": "assistant", "tool_calls": [{}, {}]});
        let (user, tool) = (message("user"), message("tool"));
        let check = |messages: Value, expect| fault(check_ollama(&json!({ "messages": messages })), expect);
        check(json!([message("system"), user, call, tool, tool, user]), "");
        check(json!([user, call, tool, user]), "no result directly after 1 calls");
        check(json!([user, call, tool]), "no result for 1 calls");
        check(json!([message("assistant"), user]), "begins with the model");
    }
}
