//! The call that a yes allows, to the last character: a tool's name and its arguments.
//!
//! The arguments are taken from their JSON as it is, token by token and in its order; nothing of a name or a value is
//! added or left out. The commas between them, and the braces around all of them, are rows here. What would not be seen
//! as it is (control characters, direction marks, what has no width, blanks other than a space) stands there as
//! `\u{…}`.
//!
//! A short string stands in its quotes. One of several lines, or with quotes or backslashes in it, stands as it is, line
//! by line, behind marks that no text can reach; a string that ends with a newline has an empty row at its end. There, a
//! backslash that would look like the begin of an escape stands as `\u{5c}`, so that each text looks like no other.

use std::fmt::Write as _;
use std::path::{Component, Path};

use haft_core::sanitize::is_hidden;
use haft_protocol::content::ToolCall;
use unicode_segmentation::UnicodeSegmentation;

use crate::clean::grapheme_columns;

/// Blanks that a level is indented by.
const INDENT: usize = 2;

/// The mark before each line of a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LineMark {
    /// It is no line of a string.
    #[default]
    No,
    Line,
    Removed,
    Added,
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

/// A row of what is granted, before it is cut to a width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ArgumentRow {
    /// Blanks before it.
    pub(super) indent: usize,
    /// The mark before its text.
    pub(super) mark: LineMark,
    /// Printable, but not yet clean.
    pub(super) text: String,
}

pub(super) fn name(call: &ToolCall) -> String {
    escape_invisible(&call.name)
}

/// The file or the directory that a tool of haft's own is about, as one reads it: as it was written where it is below
/// the working directory, else from the root on.
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
    /// Of the lines of the next string.
    mark: LineMark,
}

impl ArgumentRowBuilder {
    fn begin_row(&mut self) {
        let indent = self.level * INDENT;
        self.rows.push(ArgumentRow { indent, mark: LineMark::No, text: String::new() });
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

    /// A string in its quotes, as short as it was written or shorter.
    fn push_quoted(&mut self, token: &str) {
        let text = match serde_json::from_str::<String>(token) {
            Ok(text) => format!("\"{}\"", escape_string(&text)),
            // Half of a surrogate pair: there is no other way to write it.
            Err(_) => escape_invisible(token),
        };
        self.push_token(&text);
    }

    /// A string; one of several lines, or with quotes or backslashes, stands below its name.
    fn push_string(&mut self, token: &str) {
        let mark = std::mem::take(&mut self.mark);
        let mark = if mark == LineMark::No { LineMark::Line } else { mark };
        match serde_json::from_str::<String>(token) {
            Ok(text) if mark != LineMark::Line || text.contains(['\n', '"', '\\']) => {
                let indent = (self.level + 1) * INDENT;
                // In a list, what begins is told from what goes on.
                if self.rows.last().is_some_and(|row| row.text.is_empty()) {
                    self.push_token("text:");
                }
                for line in text.split('\n') {
                    self.rows.push(ArgumentRow { indent, mark, text: escape_line(line) });
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

/// A line of a string, every character of it seen. Of several blanks at its end the last is written out, since nothing
/// stands behind it.
fn escape_line(line: &str) -> String {
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

/// A text in which every character is seen.
fn escape_invisible(text: &str) -> String {
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

/// True if a character is not seen as what it is: also those that letters of some scripts and emoji need.
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
