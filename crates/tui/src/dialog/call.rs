//! What a yes grants, to the last character: a tool's name and its arguments.
//!
//! The arguments are taken from their JSON as it is, token by token, so nothing is added, left out or put in another
//! order. Strings are written one way, however they were escaped; what would not be seen as it is (control
//! characters, direction marks, what has no width, blanks other than a space) stands there as `\u{…}`.

use std::fmt::Write as _;

use haft_core::sanitize::is_hidden;
use haft_protocol::content::ToolCall;
use unicode_segmentation::UnicodeSegmentation;

use crate::clean::columns_of;

/// Blanks that a level is indented by.
const INDENT: usize = 2;

/// A row of what is granted, before it is cut to a width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Blanks before it.
    pub(super) indent: usize,
    /// Whether it goes on with a string of the row before.
    pub(super) goes_on: bool,
    /// Printable, but not yet clean.
    pub(super) text: String,
}

/// The name, so that all of it is seen.
pub(super) fn name(call: &ToolCall) -> String {
    visible(&call.name)
}

/// The arguments in rows.
pub(super) fn arguments(call: &ToolCall) -> Vec<Row> {
    let mut rows = vec![Row::default()];
    let (mut level, mut rest) = (0_usize, call.args.as_str());
    while let Some(first) = rest.chars().next() {
        let token = token(rest, first);
        rest = rest.get(token.len()..).unwrap_or_default();
        match first {
            '{' | '[' => {
                put(&mut rows, token);
                level += 1;
                if !rest.trim_start().starts_with(['}', ']']) {
                    begin(&mut rows, level * INDENT, false);
                }
            }
            '}' | ']' => {
                level = level.saturating_sub(1);
                let is_empty = rows.last().is_some_and(|row| row.text.ends_with(['{', '[']));
                if !is_empty {
                    begin(&mut rows, level * INDENT, false);
                }
                put(&mut rows, token);
            }
            ',' => {
                put(&mut rows, token);
                begin(&mut rows, level * INDENT, false);
            }
            ':' => put(&mut rows, ": "),
            '"' => string(&mut rows, level * INDENT, token),
            blank if blank.is_ascii_whitespace() => {}
            _ => put(&mut rows, &visible(token)),
        }
    }
    rows
}

/// The token that a text begins with.
fn token(text: &str, first: char) -> &str {
    let end = match first {
        '"' => string_end(text),
        '{' | '}' | '[' | ']' | ',' | ':' => 1,
        blank if blank.is_ascii_whitespace() => 1,
        _ => text.find(['{', '}', '[', ']', ',', ':', '"', ' ', '\n']).unwrap_or(text.len()),
    };
    text.get(..end).unwrap_or(text)
}

/// Behind the quote that ends a string.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A string; behind each newline in it a row begins.
fn string(rows: &mut Vec<Row>, indent: usize, token: &str) {
    let Ok(text) = serde_json::from_str::<String>(token) else {
        // Half of a surrogate pair: there is no other way to write it.
        put(rows, &visible(token));
        return;
    };
    put(rows, "\"");
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if at > 0 {
            begin(rows, indent, true);
        }
        put(rows, &escaped(line));
    }
    put(rows, "\"");
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        match grapheme {
            "\"" => out.push_str("\\\""),
            "\\" => out.push_str("\\\\"),
            "\n" => out.push_str("\\n"),
            "\r\n" => out.push_str("\\r\\n"),
            "\r" => out.push_str("\\r"),
            "\t" => out.push_str("\\t"),
            other => out.push_str(&visible(other)),
        }
    }
    out
}

/// A text in which every character is seen.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        let is_nothing = columns_of(grapheme) == 0;
        for c in grapheme.chars() {
            if is_nothing || is_unseen(c) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            } else {
                out.push(c);
            }
        }
    }
    out
}

/// Whether a character is not seen as what it is: also those that letters of some scripts and emoji need.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || is_hidden(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{2800}')
        || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

fn begin(rows: &mut Vec<Row>, indent: usize, goes_on: bool) {
    rows.push(Row { indent, goes_on, text: String::new() });
}

fn put(rows: &mut [Row], text: &str) {
    if let Some(row) = rows.last_mut() {
        row.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;

    use super::*;

    #[track_caller]
    fn check(args: &str, expect: &[&str]) {
        let args = RawJson::parse(args).unwrap();
        let rows =
            arguments(&ToolCall { id: haft_protocol::ids::ToolCallId::new("t"), name: "bash".into(), args });
        let row = |row: &Row| {
            format!("{}{}{}", " ".repeat(row.indent), if row.goes_on { "│" } else { "" }, row.text)
        };
        assert_eq!(rows.iter().map(row).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn arguments_stand_there_as_they_are() {
        check("{}", &["{}"]);
        check(
            r#"{"b": [1, {"x": null}, []], "a": {}, "n": 1.50e3}"#,
            &[
                "{",
                r#"  "b": ["#,
                "    1,",
                "    {",
                r#"      "x": null"#,
                "    },",
                "    []",
                "  ],",
                r#"  "a": {},"#,
                r#"  "n": 1.50e3"#,
                "}",
            ],
        );
        check(r#"{"{": "}],:"}"#, &["{", r#"  "{": "}],:""#, "}"]);
    }

    #[test]
    fn strings_go_on_behind_newlines() {
        check(r#"{"c":"a\n\n  b\n"}"#, &["{", r#"  "c": "a\n"#, r"  │\n", r#"  │  b\n""#, "}"]);
    }

    #[test]
    fn what_would_not_be_seen_is_written_out() {
        check(
            r#"{"c":"\u0072\u006d \u001b[2J\u009bx\u007f\r\t\"\\"}"#,
            &["{", r#"  "c": "rm \u{1b}[2J\u{9b}x\u{7f}\r\t\"\\""#, "}"],
        );
        check(
            "{\"c\":\"a\u{202e}b\u{200b}c\u{a0}d\u{200d}e\u{3164}\u{e0041}\"}",
            &["{", r#"  "c": "a\u{202e}b\u{200b}c\u{a0}d\u{200d}e\u{3164}\u{e0041}""#, "}"],
        );
        check("{\"日本é\":\"e\u{301}\"}", &["{", "  \"日本é\": \"e\u{301}\"", "}"]);
    }
}
