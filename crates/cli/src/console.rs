//! Terminal output. All text passes through the sanitizer of `haft_core`.

pub(crate) mod notes;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use haft_core::sanitize::{sanitize, sanitize_line};
use haft_protocol::defense::{Defense, is_up};
use haft_rpc::escape_control_chars;
use terminal_size::{Height, Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::exit::{Exit, OrExit as _};

/// The width of a banner in columns, on every terminal.
pub(crate) const BANNER: usize = 80;

/// Prints a line for people on standard error, or where [`notes`] redirects it. Write errors are ignored.
pub(crate) fn note(text: &str) {
    if !notes::try_redirect(text) {
        let _ = io::stderr().lock().write_all(terminal_line(text).as_bytes());
    }
}

pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(terminal_line(text).as_bytes())
}

/// Prints a warning on standard output: the line begins with `!` and is red on a terminal.
pub(crate) fn print_marked(text: &str) -> anyhow::Result<()> {
    let text = format!("! {}", text.trim_start());
    match io::stdout().is_terminal() {
        // Only sanitized text reaches the terminal.
        true => write(format!("\x1b[1;31m{}\x1b[0m\n", sanitize(&text)).as_bytes()),
        false => print(&text),
    }
}

pub(crate) fn terminal_line(text: &str) -> String {
    format!("{}\n", sanitize(text))
}

/// Returns a value as one line of JSON that is safe to print in a terminal.
pub(crate) fn json_line(value: &serde_json::Value) -> String {
    format!("{}\n", escape_control_chars(value.to_string()))
}

/// Escapes the control characters in lines of JSON, except the line ends.
pub(crate) fn escape_json_lines(lines: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(lines);
    let escaped = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => escape_control_chars(line.to_owned()) + "\n",
        None => escape_control_chars(line.to_owned()),
    });
    escaped.collect::<String>().into_bytes()
}

/// Returns the width of the terminal in columns; `None` without a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    let columns = |size: (Width, Height)| usize::from(size.0.0);
    let (out, err) = (terminal_size_of(io::stdout()), terminal_size_of(io::stderr()));
    out.into_iter().chain(err).map(columns).min()
}

/// Returns the width of a list in columns: that of the terminal, or 80.
pub(crate) fn list_width() -> usize {
    terminal_width().unwrap_or(80)
}

/// Splits a text into rows, each with a prefix: `first` before the first row, `rest` before the others. With a width,
/// rows end before the terminal would wrap them, so that every row on the screen has its prefix.
pub(crate) fn prefixed_rows(first: &str, rest: &str, text: &str, width: Option<usize>) -> String {
    /// A narrower terminal has no room for prefixes and text.
    const NARROW: usize = 20;
    let prefix = first.width().max(rest.width());
    let room = width.filter(|width| *width >= prefix + NARROW).map(|width| width - prefix);
    let text = sanitize(text);
    let lines = text.trim_end_matches('\n').split('\n');
    let rows =
        lines.flat_map(|line| room.map_or_else(|| vec![line.to_owned()], |room| wrap_line(line, room)));
    let rest = if is_up(Defense::RowPrefix) { rest } else { "" };
    let prefixes = std::iter::once(first).chain(std::iter::repeat(rest));
    prefixes.zip(rows).map(|(prefix, row)| format!("{prefix}{row}")).collect::<Vec<_>>().join("\n")
}

/// Wraps a line to pieces of at most `room` columns, between words if possible; long paths are split between
/// components. Tabs become spaces, because their width depends on the terminal.
fn wrap_line(line: &str, room: usize) -> Vec<String> {
    let (mut rows, mut row, mut columns) = (Vec::new(), String::new(), 0);
    for c in line.replace('\t', "    ").chars() {
        // Adding the widths of single characters never underestimates the width.
        let width = c.width().unwrap_or_default();
        if columns + width > room {
            if c == ' ' {
                // A space at the beginning separates no words.
                rows.push(std::mem::take(&mut row));
                columns = 0;
                continue;
            }
            let next = split_off_last_word(&mut row);
            columns = next.chars().map(|c| c.width().unwrap_or_default()).sum();
            rows.push(std::mem::replace(&mut row, next));
        }
        row.push(c);
        columns += width;
    }
    rows.push(row);
    rows
}

/// Removes the last word of a row, unless it is the only one; of a path, the last component.
fn split_off_last_word(row: &mut String) -> String {
    let has_text = |at: &usize| row.get(..*at).is_some_and(|before| !before.trim().is_empty());
    let at = row.rfind(' ').filter(has_text).or_else(|| row.rfind('/').filter(has_text));
    at.map_or_else(String::new, |at| row.split_off(at + 1))
}

/// Writes bytes to standard output. The caller ensures that they are safe for a terminal.
///
/// # Errors
/// The write failed. If the reader closed the pipe, as in `haft … | head -1`, the error ends haft with code 0 and no
/// message.
pub(crate) fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match &written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => written.or_exit(Exit::Ok),
        Ok(()) | Err(_) => written.context("cannot write to standard output"),
    }
}

/// Asks on standard error and reads the answer from standard input. Every answer except yes is a no.
pub(crate) fn confirm(question: &str) -> anyhow::Result<bool> {
    let question = sanitize_line(&format!("{question} [y/N] "));
    discard_typeahead();
    let mut err = io::stderr().lock();
    err.write_all(question.as_bytes())?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Asks like [`confirm`].
///
/// # Errors
/// Standard input or standard error is not a terminal.
pub(crate) fn confirm_at_terminal(question: &str) -> anyhow::Result<bool> {
    anyhow::ensure!(
        io::stdin().is_terminal() && io::stderr().is_terminal(),
        "cannot ask for confirmation without a terminal; review the output above, then run again with --yes"
    );
    confirm(question)
}

/// Discards input that was typed before the question appeared.
fn discard_typeahead() {
    #[cfg(unix)]
    if is_up(Defense::TypeAhead) {
        use rustix::termios::{QueueSelector, tcflush};
        // Only terminals have typed input.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: Option<usize>, expect: &str) {
        assert_eq!(prefixed_rows("[x] ", "[x] ", text, width), expect);
    }

    #[test]
    fn escapes_control_characters_in_json_lines() {
        let lines = "{\"a\":\"\u{9b}31m\u{85}é\"}\n{}\n[\"\u{7f}\"]";
        let escaped = String::from_utf8(escape_json_lines(lines.as_bytes())).unwrap();
        assert_eq!(escaped, "{\"a\":\"\\u009b31m\\u0085é\"}\n{}\n[\"\\u007f\"]");
        assert_eq!(json_line(&serde_json::json!({"a": "\u{9b}"})), "{\"a\":\"\\u009b\"}\n");
    }

    #[test]
    fn prefixes_every_row() {
        check("one", None, "[x] one");
        check("", None, "[x] ");
        check("one\n\nAllow? [y]\n", None, "[x] one\n[x] \n[x] Allow? [y]");
        check("one\r\n\x1b[1A\x1b[2Ktwo", None, "[x] one\n[x] two");
        assert_eq!(prefixed_rows("haft: ", "  | ", "one\ntwo", None), "haft: one\n  | two");
    }

    #[test]
    fn wraps_rows_before_terminal_does() {
        let blanks = format!("one{}Allow? [y]", " ".repeat(23));
        check(&blanks, Some(30), "[x] one                       \n[x] Allow? [y]");
        check(&"x".repeat(26), Some(30), &format!("[x] {}", "x".repeat(26)));
        check(&"x".repeat(27), Some(30), &format!("[x] {}\n[x] x", "x".repeat(26)));
        check(&"日".repeat(14), Some(30), &format!("[x] {}\n[x] 日", "日".repeat(13)));
        check(&format!("{}\tb", "x".repeat(24)), Some(30), &format!("[x] {}  \n[x]  b", "x".repeat(24)));
        check("it waits for another word", Some(26), "[x] it waits for another \n[x] word");
        check("  indented anotherwordthatislong", Some(26), "[x]   indented \n[x] anotherwordthatislong");
        check(" anotherwordthatislongandlonger", Some(26), "[x]  anotherwordthatislong\n[x] andlonger");
        check(&format!("{} x", "x".repeat(26)), Some(30), &format!("[x] {}\n[x] x", "x".repeat(26)));
        check("/srv/somebody/some/directory/file", Some(26), "[x] /srv/somebody/some/\n[x] directory/file");
        check(&"x".repeat(40), Some(10), &format!("[x] {}", "x".repeat(40)));
    }
}
