//! Collects the provider's ids of tool calls from the stream.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ToolCallId;
use serde_json::Value;

/// The ids of one answer's tool calls, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    state: Mutex<CallIdState>,
}

#[derive(Debug, Default)]
struct CallIdState {
    seen: HashSet<String>,
    waiting: VecDeque<String>,
}

impl CallIds {
    /// Collects the ids in one event of any dialect.
    pub(super) fn record_ids(&self, event: &Value) {
        let mut state = self.lock();
        for id in ids_in_event(event) {
            if state.seen.insert(id.to_owned()) {
                state.waiting.push_back(id.to_owned());
            }
        }
    }

    /// Returns the id of the next call; a generated id if the provider sends none.
    pub(super) fn next(&self) -> ToolCallId {
        let noted = self.lock().waiting.pop_front();
        ToolCallId::new(noted.unwrap_or_else(|| format!("call_{:016x}", RandomState::new().hash_one(()))))
    }

    fn lock(&self) -> MutexGuard<'_, CallIdState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ids_in_event(event: &Value) -> Vec<&str> {
    let block = event.pointer("/content_block").filter(|block| block["type"] == "tool_use");
    let item = event.pointer("/item").filter(|item| item["type"] == "function_call");
    let single = [block.and_then(|block| block.get("id")), item.and_then(|item| item.get("call_id"))];
    let choices = event.get("choices").and_then(Value::as_array).into_iter().flatten();
    let calls = choices.filter_map(|choice| choice.pointer("/delta/tool_calls")?.as_array()).flatten();
    let listed = calls.filter_map(|call| call.get("id"));
    let all = single.into_iter().flatten().chain(listed);
    all.filter_map(Value::as_str).filter(|id| !id.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_ids_of_every_dialect_once() {
        let ids = CallIds::default();
        let record = |event: &str| ids.record_ids(&serde_json::from_str(event).unwrap());
        record(r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"toolu_1"}}"#);
        record(
            r#"{"type":"response.output_item.added","item":{"type":"function_call","id":"fc","call_id":"c2"}}"#,
        );
        record(
            r#"{"type":"response.output_item.done","item":{"type":"function_call","id":"fc","call_id":"c2"}}"#,
        );
        record(r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c3"},{"index":1,"id":"c4"}]}}]}"#);
        record(r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{}}]}}]}"#);
        record(r#"{"type":"text_delta","text":"tool_use"}"#);
        let found: Vec<String> = (0..4).map(|_| ids.next().to_string()).collect();
        assert_eq!(found, ["toolu_1", "c2", "c3", "c4"]);
    }

    #[test]
    fn makes_up_ids_that_differ() {
        let ids = CallIds::default();
        let (one, two) = (ids.next(), ids.next());
        assert!(one != two && one.as_str().starts_with("call_"));
    }
}
