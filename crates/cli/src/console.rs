//! The terminal: everything that is shown goes through here, and through core's sanitiser.

pub(crate) mod notes;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use haft_core::sanitize::{sanitize, sanitize_line};
use haft_protocol::defence::{Defence, is_up};
use terminal_size::{Height, Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::exit::{Exit, OrExit as _};

/// The columns of a banner, on every terminal.
pub(crate) const BANNER: usize = 80;

/// A line for people, on standard error, or wherever [`notes`] sends it. Nobody to read it is no reason to fail.
pub(crate) fn note(text: &str) {
    if !notes::try_redirect(text) {
        let _ = io::stderr().lock().write_all(terminal_line(text).as_bytes());
    }
}

pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(terminal_line(text).as_bytes())
}

/// A line that was asked for and must not be overlooked, on standard output: it begins with `!`, and is red on a terminal.
pub(crate) fn print_marked(text: &str) -> anyhow::Result<()> {
    let text = format!("! {}", text.trim_start());
    match io::stdout().is_terminal() {
        // Nothing of the text reaches a terminal that was not made harmless first.
        true => write(format!("\x1b[1;31m{}\x1b[0m\n", sanitize(&text)).as_bytes()),
        false => print(&text),
    }
}

pub(crate) fn terminal_line(text: &str) -> String {
    format!("{}\n", sanitize(text))
}

/// The columns of the terminal that people look at; none when there is no terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    let columns = |size: (Width, Height)| usize::from(size.0.0);
    let (out, err) = (terminal_size_of(io::stdout()), terminal_size_of(io::stderr()));
    out.into_iter().chain(err).map(columns).min()
}

/// The columns of a list: those of the terminal, or 80 where there is none.
pub(crate) fn list_width() -> usize {
    terminal_width().unwrap_or(80)
}

/// A text in rows, each with a prefix: `first` before the first one, `rest` before all others. With a width, a row
/// ends where a terminal would begin a new one, so that nothing stands at a row's beginning without its prefix.
pub(crate) fn prefixed_rows(first: &str, rest: &str, text: &str, width: Option<usize>) -> String {
    /// On a terminal as narrow as this there is no room for prefixes and text.
    const NARROW: usize = 20;
    let prefix = first.width().max(rest.width());
    let room = width.filter(|width| *width >= prefix + NARROW).map(|width| width - prefix);
    let text = sanitize(text);
    let lines = text.trim_end_matches('\n').split('\n');
    let rows =
        lines.flat_map(|line| room.map_or_else(|| vec![line.to_owned()], |room| wrap_line(line, room)));
    let rest = if is_up(Defence::RowPrefix) { rest } else { "" };
    let prefixes = std::iter::once(first).chain(std::iter::repeat(rest));
    prefixes.zip(rows).map(|(prefix, row)| format!("{prefix}{row}")).collect::<Vec<_>>().join("\n")
}

/// A line in pieces of at most `room` columns, cut between words where there are any, and long paths between their parts.
/// Tabs become blanks: how far one goes only the terminal knows.
fn wrap_line(line: &str, room: usize) -> Vec<String> {
    let (mut rows, mut row, mut columns) = (Vec::new(), String::new(), 0);
    for c in line.replace('\t', "    ").chars() {
        // Counted one by one, nothing is taken for narrower than any terminal takes it.
        let width = c.width().unwrap_or_default();
        if columns + width > room {
            if c == ' ' {
                // It separates nothing there.
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

/// Takes the word that a row ends with, unless it is all there is in it; then, of a path, the part that it ends with.
fn split_off_last_word(row: &mut String) -> String {
    let has_text = |at: &usize| row.get(..*at).is_some_and(|before| !before.trim().is_empty());
    let at = row.rfind(' ').filter(has_text).or_else(|| row.rfind('/').filter(has_text));
    at.map_or_else(String::new, |at| row.split_off(at + 1))
}

/// Bytes that were asked for and that no terminal can mistake, on standard output.
///
/// # Errors
/// When they cannot be written. That the reader is gone, as with `haft … | head -1`, is an error that ends haft
/// in silence.
pub(crate) fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match &written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => written.or_exit(Exit::Ok),
        Ok(()) | Err(_) => written.context("cannot write to standard output"),
    }
}

/// Asks on standard error and reads the answer from standard input; everything but a yes is a no.
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

/// Asks as [`confirm`] does.
///
/// # Errors
/// When no person is at a terminal.
pub(crate) fn confirm_at_terminal(question: &str) -> anyhow::Result<bool> {
    anyhow::ensure!(
        io::stdin().is_terminal() && io::stderr().is_terminal(),
        "nobody to ask; look at what is shown, then use --yes"
    );
    confirm(question)
}

/// Drops what was typed before the question was there: it was no answer to it.
fn discard_typeahead() {
    #[cfg(unix)]
    if is_up(Defence::TypeAhead) {
        use rustix::termios::{QueueSelector, tcflush};
        // What is no terminal has nothing typed into it.
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
    fn every_row_has_its_prefix() {
        check("one", None, "[x] one");
        check("", None, "[x] ");
        check("one\n\nAllow? [y]\n", None, "[x] one\n[x] \n[x] Allow? [y]");
        check("one\r\n\x1b[1A\x1b[2Ktwo", None, "[x] one\n[x] two");
        assert_eq!(prefixed_rows("haft: ", "  | ", "one\ntwo", None), "haft: one\n  | two");
    }

    #[test]
    fn a_row_ends_before_the_terminal_ends_it() {
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
