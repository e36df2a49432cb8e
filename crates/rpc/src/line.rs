//! One event, one line.

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc;

/// The event as compact JSON, without a newline. Images are told by their kind and size and not sent. A terminal
/// that is shown the line obeys nothing in it: every control character is escaped.
///
/// # Errors
/// When the event has no JSON form, which no event of haft's own lacks.
pub fn event_line(event: &AgentEvent) -> Result<String, serde_json::Error> {
    rpc::line(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_control_characters_are_escaped() {
        let event = AgentEvent::TextDelta { delta: "\u{9b}31m\u{7f}é\x1b\n\u{2028}\u{e0041}".into() };
        let line = event_line(&event).unwrap();
        assert_eq!(
            line,
            r#"{"type":"text_delta","delta":"\u009b31m\u007fé\u001b\n\u2028TAG"}"#
                .replace("TAG", "\u{e0041}")
        );
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["delta"], "\u{9b}31m\u{7f}é\x1b\n\u{2028}\u{e0041}");
    }
}
