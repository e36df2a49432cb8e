//! The call that a yes allows, to the last character: the tool's name and its arguments. [`preview`](super::preview) has
//! diffs in place of arguments.
//!
//! The arguments follow their JSON text token by token, in order. Nothing of a name or a value is added or omitted.
//! Commas between arguments and the outer braces are represented by rows. Characters that would be invisible (control
//! characters, direction marks, zero-width characters, blanks other than a space) are written as `\u{…}`.
//!
//! A short string is shown in quotes. A string with several lines, quotes or backslashes is shown unchanged, line by
//! line, behind marks that no text can imitate. A string that ends with a newline has an empty row at its end. A
//! backslash that would look like an escape is written as `\u{5c}`, so that no two texts look the same.

use std::fmt::Write as _;
use std::path::{Component, Path};

use haft_core::sanitize::is_hidden;
use haft_protocol::content::ToolCall;
use unicode_segmentation::UnicodeSegmentation;

use crate::clean::grapheme_columns;

/// Blanks of one indentation level.
const INDENT: usize = 2;

/// The mark before each line of a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LineMark {
    /// Not a line of a string.
    #[default]
    No,
    Line,
    Removed,
    Added,
    /// An unchanged line of a diff, or a remark in it.
    Context,
}

impl LineMark {
    fn from_argument_name(name: &str) -> Self {
        match name {
            "\"old_text\"" => Self::Removed,
            "\"new_text\"" => Self::Added,
            _ => Self::Line,
        }
    }
}

/// A row of the granted call, before it is wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ArgumentRow {
    /// The number of a line of a diff, in a column of its own.
    pub(super) gutter: String,
    /// Blanks before the row.
    pub(super) indent: usize,
    /// The mark before its text.
    pub(super) mark: LineMark,
    /// Printable, but not sanitized yet.
    pub(super) text: String,
}

pub(super) fn name(call: &ToolCall) -> String {
    escape_invisible(&call.name)
}

/// Returns the file or directory that a built-in tool works on: as written if it is below the working directory,
/// otherwise as an absolute path.
pub(super) fn target_path(call: &ToolCall, cwd: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct PathArgument {
        path: String,
    }

    let what = match call.name.as_str() {
        "read" | "write" | "edit" => "file",
        "ls" | "find" | "grep" => "in",
        _ => return None,
    };
    let PathArgument { path } = serde_json::from_str(call.args.as_str()).ok()?;
    let path = path.strip_prefix('@').unwrap_or(&path);
    let is_below =
        Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let shown = match is_below || path.starts_with('~') {
        true => path.to_owned(),
        false => cwd.join(path).to_string_lossy().into_owned(),
    };
    (!path.is_empty()).then(|| format!("{what}: {}", escape_invisible(&shown)))
}

pub(super) fn argument_rows(call: &ToolCall) -> Vec<ArgumentRow> {
    let mut rows = ArgumentRowBuilder::default();
    let mut rest = call.args.as_str().trim();
    let within = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(str::trim);
    if let Some(within) = within.filter(|within| !within.is_empty()) {
        rest = within;
        rows.level = 1;
    }
    rows.begin_row();
    while let Some(first) = rest.chars().next() {
        let token = next_token(rest, first);
        rest = rest.get(token.len()..).unwrap_or_default();
        match first {
            '{' | '[' => {
                rows.push_token(token);
                rows.level += 1;
                if !rest.trim_start().starts_with(['}', ']']) {
                    rows.begin_row();
                }
            }
            '}' | ']' => {
                rows.level = rows.level.saturating_sub(1);
                if !rows.is_empty_inside() {
                    rows.begin_row();
                }
                rows.push_token(token);
            }
            ',' => rows.begin_row(),
            ':' => rows.push_token(":"),
            '"' if rest.trim_start().starts_with(':') => {
                rows.mark = LineMark::from_argument_name(token);
                rows.push_quoted(token);
            }
            '"' => rows.push_string(token),
            blank if blank.is_ascii_whitespace() => {}
            _ => rows.push_token(&escape_invisible(token)),
        }
    }
    rows.rows
}

#[derive(Debug, Default)]
struct ArgumentRowBuilder {
    rows: Vec<ArgumentRow>,
    level: usize,
    /// The mark of the lines of the next string.
    mark: LineMark,
}

impl ArgumentRowBuilder {
    fn begin_row(&mut self) {
        let indent = self.level * INDENT;
        self.rows.push(ArgumentRow { indent, ..ArgumentRow::default() });
    }

    fn push_token(&mut self, text: &str) {
        let is_behind = |row: &ArgumentRow| row.text.ends_with(':') && text != ":";
        if let Some(row) = self.rows.last_mut() {
            if is_behind(row) {
                row.text.push(' ');
            }
            row.text.push_str(text);
        }
    }

    fn is_empty_inside(&self) -> bool {
        self.rows.last().is_some_and(|row| row.mark == LineMark::No && row.text.ends_with(['{', '[']))
    }

    /// Adds a string in quotes, not longer than in the JSON text.
    fn push_quoted(&mut self, token: &str) {
        let text = match serde_json::from_str::<String>(token) {
            Ok(text) => format!("\"{}\"", escape_string(&text)),
            // Half of a surrogate pair has no other notation.
            Err(_) => escape_invisible(token),
        };
        self.push_token(&text);
    }

    /// Adds a string. A string with several lines, quotes or backslashes is placed below its name.
    fn push_string(&mut self, token: &str) {
        let mark = std::mem::take(&mut self.mark);
        let mark = if mark == LineMark::No { LineMark::Line } else { mark };
        match serde_json::from_str::<String>(token) {
            Ok(text) if mark != LineMark::Line || text.contains(['\n', '"', '\\']) => {
                let indent = (self.level + 1) * INDENT;
                // In a list, this separates the beginning of an item from a continuation.
                if self.rows.last().is_some_and(|row| row.text.is_empty()) {
                    self.push_token("text:");
                }
                for line in text.split('\n') {
                    self.rows.push(ArgumentRow {
                        indent,
                        mark,
                        text: escape_line(line),
                        ..ArgumentRow::default()
                    });
                }
            }
            Ok(_) | Err(_) => self.push_quoted(token),
        }
    }
}

fn next_token(text: &str, first: char) -> &str {
    let end = match first {
        '"' => string_end(text),
        '{' | '}' | '[' | ']' | ',' | ':' => 1,
        blank if blank.is_ascii_whitespace() => 1,
        _ => text.find(['{', '}', '[', ']', ',', ':', '"', ' ', '\n']).unwrap_or(text.len()),
    };
    text.get(..end).unwrap_or(text)
}

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

/// Escapes a line of a string so that every character is visible. The last of several trailing blanks is escaped,
/// because nothing follows it.
pub(super) fn escape_line(line: &str) -> String {
    let (rest, last) = match line.strip_suffix(' ') {
        Some(rest) => (rest, "\\u{20}"),
        None => (line, ""),
    };
    let mut out = String::with_capacity(line.len());
    for (at, grapheme) in rest.grapheme_indices(true) {
        let behind = rest.get(at + grapheme.len()..).unwrap_or_default();
        match grapheme {
            "\\" if behind.starts_with(['t', 'r', 'u']) => out.push_str("\\u{5c}"),
            "\t" => out.push_str("\\t"),
            "\r" => out.push_str("\\r"),
            other => out.push_str(&escape_invisible(other)),
        }
    }
    out + last
}

fn escape_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        match grapheme {
            "\"" => out.push_str("\\\""),
            "\\" => out.push_str("\\\\"),
            "\n" => out.push_str("\\n"),
            "\r\n" => out.push_str("\\r\\n"),
            "\r" => out.push_str("\\r"),
            "\t" => out.push_str("\\t"),
            other => out.push_str(&escape_invisible(other)),
        }
    }
    out
}

/// Escapes a text so that every character is visible.
pub(super) fn escape_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        let is_nothing = grapheme_columns(grapheme) == 0;
        for c in grapheme.chars() {
            if is_nothing || is_invisible(c) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            } else {
                out.push(c);
            }
        }
    }
    out
}

/// True if a character is not visible as itself. This includes characters that some scripts and emoji need.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || is_hidden(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{2800}')
        || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests;
