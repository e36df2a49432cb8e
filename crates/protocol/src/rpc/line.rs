//! A value as one line.

use serde::Serialize;

/// Writes the value as compact JSON without any newline. A terminal that prints the line executes
/// nothing in it, and no reader splits it.
///
/// # Errors
/// If the value has no JSON form. All values of this dialect have one.
pub fn line<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(value).map(escape_control_chars)
}

/// Escapes the control characters and line ends in compact JSON, as [`line()`] does. JSON itself
/// allows the upper control characters. They occur only inside strings, where an escape means the
/// same.
pub fn escape_control_chars(json: String) -> String {
    if !json.contains(is_escaped) {
        return json;
    }
    json.chars().fold(String::with_capacity(json.len() + 16), |mut out, c| {
        match is_escaped(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
        out
    })
}

fn is_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AgentEvent;

    #[test]
    fn upper_control_characters_are_escaped() {
        let event = AgentEvent::TextDelta { delta: "\u{9b}31m\u{7f}é\x1b\n\u{2028}\u{e0041}".into() };
        let line = line(&event).unwrap();
        assert_eq!(
            line,
            r#"{"type":"text_delta","delta":"\u009b31m\u007fé\u001b\n\u2028TAG"}"#
                .replace("TAG", "\u{e0041}")
        );
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["delta"], "\u{9b}31m\u{7f}é\x1b\n\u{2028}\u{e0041}");
    }
}
