//! Checks that an event stream is complete.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use haft_protocol::event::AgentEvent;

/// Checks U4.
pub(crate) fn check_stream(events: &[AgentEvent]) -> Result<()> {
    let mut calls: BTreeMap<String, i32> = BTreeMap::new();
    let (mut prompts, mut ends, mut starts, mut turns) = (0, 0, 0, 0);
    for event in events {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the other events have no counterpart")]
        match event {
            AgentEvent::ToolCall { id, .. } => *calls.entry(id.to_string()).or_default() += 1,
            AgentEvent::ToolResult { id, .. } => {
                let open = calls.entry(id.to_string()).or_default();
                *open -= 1;
                ensure!(*open >= 0, "tool call {id} has more than one result");
            }
            AgentEvent::UserMessage { .. } => prompts += 1,
            AgentEvent::TurnStart { .. } => starts += 1,
            AgentEvent::TurnEnd { .. } => turns += 1,
            AgentEvent::Done => ends += 1,
            _ => {}
        }
    }
    let open: Vec<&String> = calls.iter().filter(|(_, open)| **open != 0).map(|(id, _)| id).collect();
    ensure!(open.is_empty(), "tool calls without a result: {open:?}");
    ensure!(starts == turns, "{starts} steps begin and {turns} end");
    ensure!(prompts == ends, "{prompts} prompts begin and {ends} end");
    Ok(())
}
