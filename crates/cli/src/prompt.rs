//! The prompt: the words of the command line, and piped input.

use std::io::{self, IsTerminal as _, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use anyhow::{Context as _, bail};

use crate::console::note;
use crate::exit::Exit;
use crate::timeouts::PIPED_STDIN_GRACE;

/// The maximum size of piped input, in bytes: 10 MiB.
const MAX_PIPED: u64 = 10 * 1024 * 1024;

/// Returns the words joined by spaces, followed by the piped input; `None` without both.
pub(crate) fn read(words: &[String]) -> anyhow::Result<Option<String>> {
    let words = words.join(" ");
    let piped = if io::stdin().is_terminal() { String::new() } else { read_piped(!words.trim().is_empty())? };
    Ok(join_prompt(words.trim(), piped.trim_end()))
}

fn join_prompt(words: &str, piped: &str) -> Option<String> {
    match (words.is_empty(), piped.is_empty()) {
        (true, true) => None,
        (false, true) => Some(words.into()),
        (true, false) => Some(piped.into()),
        (false, false) => Some(format!("{words}\n\n{piped}")),
    }
}

/// Reads standard input to its end. If the prompt has words, a silent input is abandoned after a while: a pipe that was
/// left open must not block a script.
fn read_piped(has_words: bool) -> anyhow::Result<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // If the input stays silent, the thread runs until the process ends.
    thread::spawn(move || read_in_two(io::stdin().lock(), &sender));
    let first = if has_words {
        receiver.recv_timeout(PIPED_STDIN_GRACE)
    } else {
        receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
    };
    let mut bytes = match first {
        Ok(first) => first.context("cannot read standard input")?,
        Err(RecvTimeoutError::Disconnected) => Vec::new(),
        Err(RecvTimeoutError::Timeout) => {
            note("haft: no data on standard input, so it is ignored; use `< /dev/null` to avoid the wait");
            return Ok(String::new());
        }
    };
    while let Ok(more) = receiver.recv() {
        bytes.extend(more.context("cannot read standard input")?);
    }
    if bytes.len() as u64 > MAX_PIPED {
        return Exit::Usage.fail(format!(
            "standard input has more than {MAX_PIPED} bytes; shorten it or save it as a file"
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => bail!("standard input is not UTF-8 text"),
    }
}

fn read_in_two(mut input: impl Read, sender: &mpsc::SyncSender<io::Result<Vec<u8>>>) {
    let mut first = vec![0; 8192];
    let outcome = input.read(&mut first).map(|count| {
        first.truncate(count);
        first
    });
    let ended = !matches!(&outcome, Ok(first) if !first.is_empty());
    // The receiver may be gone.
    if sender.send(outcome).is_err() || ended {
        return;
    }
    let mut rest = Vec::new();
    let outcome = input.take(MAX_PIPED).read_to_end(&mut rest).map(|_| rest);
    let _ = sender.send(outcome);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, piped: &str, expect: Option<&str>) {
        assert_eq!(join_prompt(words, piped).as_deref(), expect);
    }

    #[test]
    fn puts_words_before_piped_input() {
        check("", "", None);
        check("a b", "", Some("a b"));
        check("", "text", Some("text"));
        check("review", "diff", Some("review\n\ndiff"));
    }

    /// Returns the sizes of the pieces that [`read_in_two`] sends, in order.
    fn pieces(input: impl Read) -> Vec<usize> {
        let (sender, receiver) = mpsc::sync_channel(2);
        read_in_two(input, &sender);
        drop(sender);
        receiver.iter().map(|piece| piece.unwrap().len()).collect()
    }

    #[test]
    fn reads_all_input_in_two_pieces() {
        assert_eq!(pieces(io::empty()), [0]);
        assert_eq!(pieces([b'x'; 5].as_slice()), [5, 0]);
        assert_eq!(pieces([b'x'; 10_000].as_slice()), [8192, 1808]);
    }
}
