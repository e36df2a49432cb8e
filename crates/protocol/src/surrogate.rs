//! Lone surrogates: `\ud800` without its other half, which UTF-8 cannot represent.
//!
//! Python writes them for file names that are not UTF-8, JavaScript for text that is cut inside an
//! emoji. In text for people and models they become U+FFFD. In an id, a name or arguments this
//! repair would silently change the value, so they are rejected there.

use std::borrow::Cow;

use serde_json::Value;

/// The replacement of a lone surrogate, as long as the escape that it replaces.
const REPLACEMENT: &str = "\\ufffd";

/// Fields with text for people and models. Any other field rejects lone surrogates, the safe
/// default.
const TEXT: &[&str] = &[
    "append_system_prompt",
    "description",
    "display",
    "error",
    "footer",
    "guidelines",
    "insert",
    "label",
    "lines",
    "message",
    "prompt",
    "reason",
    "replace_text",
    "snippet",
    "system_prompt",
    "text",
    "title",
];

/// Fields whose members are checked one by one.
const HOLDERS: &[&str] = &["content", "open_panel"];

/// Replaces every lone surrogate; borrowed if there is none.
pub(crate) fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut found) = (text, false);
    while let Some((plain, escape)) = rest.find('\\').map(|at| rest.split_at(at)) {
        out.push_str(plain);
        let length = escape_length(escape);
        let (escape, after) = escape.split_at(length);
        let lone = length == REPLACEMENT.len() && matches!(utf16_unit(escape), Some(0xD800..=0xDFFF));
        out.push_str(if lone { REPLACEMENT } else { escape });
        found |= lone;
        rest = after;
    }
    out.push_str(rest);
    if found { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// Returns the first field of a repaired frame that contains a replacement and must not.
pub(crate) fn misplaced_replacement(frame: &str) -> Option<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(frame) else { return None };
    fields.iter().find_map(|(name, value)| misplaced_replacement_in(name, value))
}

/// Returns the first field of a repaired object outside `texts` that contains a replacement.
pub(crate) fn misplaced_replacement_outside(object: &str, texts: &[&str]) -> Option<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(object) else { return None };
    let is_wrong = |(name, value): &(&String, &Value)| {
        name.contains(char::REPLACEMENT_CHARACTER)
            || !texts.contains(&name.as_str()) && holds_replacement(value)
    };
    fields.iter().find(is_wrong).map(|(name, _)| name.clone())
}

fn misplaced_replacement_in(name: &str, value: &Value) -> Option<String> {
    if TEXT.contains(&name) {
        return None;
    }
    if !HOLDERS.contains(&name) {
        return holds_replacement(value).then(|| name.to_owned());
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| misplaced_replacement_in(name, item)),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| misplaced_replacement_in(name, value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            holds_replacement(value).then(|| name.to_owned())
        }
    }
}

fn holds_replacement(value: &Value) -> bool {
    value.to_string().contains(char::REPLACEMENT_CHARACTER)
}

/// Returns the length of the escape that `text` begins with, in bytes; a surrogate pair counts as
/// one escape.
fn escape_length(text: &str) -> usize {
    match utf16_unit(text) {
        Some(0xD800..=0xDBFF) if matches!(text.get(6..).and_then(utf16_unit), Some(0xDC00..=0xDFFF)) => 12,
        Some(_) => 6,
        None => text.char_indices().nth(2).map_or(text.len(), |(at, _)| at),
    }
}

/// Reads the UTF-16 unit of the `\uXXXX` that `text` begins with.
fn utf16_unit(text: &str) -> Option<u16> {
    let hex = text.strip_prefix("\\u")?.get(..4)?;
    // `from_str_radix` would also accept a sign.
    hex.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(hex, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(replace_lone_surrogates(text), expect);
    }

    #[test]
    fn only_lone_halves_are_replaced() {
        check(r#""plain""#, r#""plain""#);
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""\ud83d""#, r#""\ufffd""#);
        check(r#""\uDE00\ud83d""#, r#""\ufffd\ufffd""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""\ud8"#, r#""\ud8"#);
        check("\"\\\u{e9}\\ud800", "\"\\\u{e9}\\ufffd");
    }

    #[test]
    fn surrogates_in_names_and_arguments_are_not_repaired() {
        let check = |frame: &str, expect: Option<&str>| {
            assert_eq!(misplaced_replacement(frame).as_deref(), expect, "{frame}")
        };
        check(r#"{"id":"1","content":[{"type":"text","text":"\ufffd"}]}"#, None);
        check(r#"{"open_panel":{"id":"\ufffd"}}"#, Some("id"));
        check(r#"{"content":"\ufffd"}"#, Some("content"));
        check(r#"{"modified_args":{"text":"\ufffd"}}"#, Some("modified_args"));
        check(r#"{"schema":{"\ufffd":1}}"#, Some("schema"));
    }
}
