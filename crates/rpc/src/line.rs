//! One event, one line.

use haft_protocol::RawJson;
use haft_protocol::content::Content;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::HostCallError;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::message::Time;
use serde::Serialize;

/// The event as compact JSON, without a newline. Images are told by their kind and size and not sent. A terminal
/// that is shown the line obeys nothing in it: every control character is escaped.
///
/// # Errors
/// When the event has no JSON form, which no event of haft's own lacks.
pub fn event_line(event: &AgentEvent) -> Result<String, serde_json::Error> {
    encoded(event).map(escaped)
}

/// A line of compact JSON as one in which a terminal obeys nothing. JSON itself lets the upper control characters
/// stand; they are only ever inside of strings, where an escape means the same.
pub fn escaped(json: String) -> String {
    if !json.contains(char::is_control) {
        return json;
    }
    let escape = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escape).collect()
}

fn encoded(event: &AgentEvent) -> Result<String, serde_json::Error> {
    match event {
        AgentEvent::UserMessage { content, time } => {
            serde_json::to_string(&WithImages::UserMessage { content: blocks(content), time })
        }
        AgentEvent::ToolResult { id, name, is_error, content, extension, synthetic_by, details } => {
            let (is_error, content) = (*is_error, blocks(content));
            let (extension, synthetic_by) = (extension.as_ref(), synthetic_by.as_deref());
            let details = details.as_ref();
            let result =
                WithImages::ToolResult { id, name, is_error, content, extension, synthetic_by, details };
            serde_json::to_string(&result)
        }
        AgentEvent::HostCallEnd { id, extension, name, is_error, code, content, details } => {
            let (is_error, code, content) = (*is_error, *code, blocks(content));
            let details = details.as_ref();
            let end = WithImages::HostCallEnd { id, extension, name, is_error, code, content, details };
            serde_json::to_string(&end)
        }
        AgentEvent::Session { .. }
        | AgentEvent::HostCallStart { .. }
        | AgentEvent::SessionRepaired { .. }
        | AgentEvent::TrustRequired { .. }
        | AgentEvent::QueueUpdate { .. }
        | AgentEvent::TurnStart { .. }
        | AgentEvent::ModelRequest { .. }
        | AgentEvent::ModelResponse { .. }
        | AgentEvent::AssistantStart
        | AgentEvent::TextDelta { .. }
        | AgentEvent::ThinkingDelta { .. }
        | AgentEvent::ToolUseStart { .. }
        | AgentEvent::ToolUseArgs { .. }
        | AgentEvent::ToolUseEnd { .. }
        | AgentEvent::Usage { .. }
        | AgentEvent::AssistantMessage { .. }
        | AgentEvent::ToolCall { .. }
        | AgentEvent::ToolRewritten { .. }
        | AgentEvent::ToolRewriteConflict { .. }
        | AgentEvent::ToolBlocked { .. }
        | AgentEvent::ToolSkipped { .. }
        | AgentEvent::ToolStart { .. }
        | AgentEvent::ToolProgress { .. }
        | AgentEvent::ToolEnd { .. }
        | AgentEvent::TurnEnd { .. }
        | AgentEvent::SteeringInjected { .. }
        | AgentEvent::Interrupted { .. }
        | AgentEvent::TurnDiscarded { .. }
        | AgentEvent::Retry { .. }
        | AgentEvent::ModelFallback { .. }
        | AgentEvent::CompactionStart { .. }
        | AgentEvent::CompactionEnd { .. }
        | AgentEvent::Done
        | AgentEvent::Error { .. }
        | AgentEvent::ExtNotify { .. }
        | AgentEvent::ExtDisplay { .. }
        | AgentEvent::ExtClearNotes { .. }
        | AgentEvent::GateOff { .. }
        | AgentEvent::EventGap { .. }
        | AgentEvent::ExtensionError(_) => serde_json::to_string(event),
    }
}

/// The events whose content may hold images.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WithImages<'a> {
    UserMessage {
        content: Vec<Block<'a>>,
        time: &'a Time,
    },
    ToolResult {
        id: &'a ToolCallId,
        name: &'a str,
        is_error: bool,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        extension: Option<&'a ExtensionName>,
        #[serde(skip_serializing_if = "Option::is_none")]
        synthetic_by: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'a RawJson>,
    },
    HostCallEnd {
        id: &'a ToolCallId,
        extension: &'a ExtensionName,
        name: &'a str,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<HostCallError>,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'a RawJson>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Image { mime_type: &'a str, bytes: usize },
}

fn blocks(content: &[Content]) -> Vec<Block<'_>> {
    content.iter().map(block).collect()
}

fn block(content: &Content) -> Block<'_> {
    match content {
        Content::Text { text } => Block::Text { text },
        Content::Image(image) => {
            Block::Image { mime_type: &image.mime_type, bytes: decoded_len(&image.data) }
        }
    }
}

/// How many bytes a base64 text stands for.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_control_characters_are_escaped() {
        let event = AgentEvent::TextDelta { delta: "\u{9b}31m\u{7f}é\x1b\n\u{e0041}".into() };
        let line = event_line(&event).unwrap();
        assert_eq!(
            line,
            r#"{"type":"text_delta","delta":"\u009b31m\u007fé\u001b\nTAG"}"#.replace("TAG", "\u{e0041}")
        );
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["delta"], "\u{9b}31m\u{7f}é\x1b\n\u{e0041}");
    }

    #[test]
    fn base64_is_counted_in_the_bytes_it_stands_for() {
        for (text, bytes) in [("", 0), ("YQ==", 1), ("YWI=", 2), ("YWJj", 3), ("YWJjZA==", 4)] {
            assert_eq!(decoded_len(text), bytes, "{text}");
        }
    }
}
