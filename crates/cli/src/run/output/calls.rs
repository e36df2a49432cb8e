//! Calls of tools in the story: which one was refused, and who answered in a tool's place.

use std::collections::BTreeMap;

use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;

use super::{called, short};

/// What the calls were that have no result yet, as they are told.
#[derive(Debug, Default)]
pub(crate) struct Calls(BTreeMap<ToolCallId, String>);

impl Calls {
    /// A line about an event, with the call that it is about where others were told in between.
    pub(super) fn named(&mut self, event: &AgentEvent, line: String) -> String {
        if let AgentEvent::ToolCall { id, name, args } = event {
            self.0.insert(id.clone(), called(None, name, args.as_str()));
        } else if let AgentEvent::ToolResult { id, .. } = event {
            self.0.remove(id);
        } else if let AgentEvent::ToolBlocked { id, .. } = event
            && let Some(call) = self.0.get(id)
        {
            return format!("{line}: {call}");
        }
        line
    }
}

/// A result, and whether it is the tool's own.
pub(super) fn result(name: &str, synthetic_by: Option<&str>, text: &str) -> String {
    match synthetic_by {
        None => format!("{} {text}", short(name)),
        Some(by) => format!("{} (not run: {} answered) {text}", short(name), short(by)),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;

    use super::*;

    #[test]
    fn of_several_calls_the_refused_one_is_named() {
        let mut calls = Calls::default();
        for (id, command) in [("1", "ls"), ("2", "rm")] {
            let args = RawJson::from(serde_json::json!({ "command": command }));
            let call = AgentEvent::ToolCall { id: ToolCallId::new(id), name: "bash".into(), args };
            assert_eq!(calls.named(&call, "→".to_owned()), "→");
        }
        let refused = |id: &str| AgentEvent::ToolBlocked {
            id: ToolCallId::new(id),
            by: "policy".into(),
            reason: "no".into(),
        };
        let line = || "  refused by policy".to_owned();
        assert_eq!(calls.named(&refused("2"), line()), r#"  refused by policy: bash {"command":"rm"}"#);
        assert_eq!(calls.named(&refused("3"), line()), line());
    }

    #[test]
    fn an_answer_in_a_tools_place_is_told_as_that() {
        assert_eq!(result("bash", None, "FAKE"), "bash FAKE");
        assert_eq!(result("bash", Some("aa"), "FAKE"), "bash (not run: aa answered) FAKE");
    }
}
