//! Asking the person whether to do what cannot be undone.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use haft_core::sanitize::sanitize_line;
#[cfg(unix)]
use haft_protocol::defence::{Defence, is_up};

/// Asks on standard error and reads the answer from standard input; everything but a yes is a no.
pub(crate) fn confirmed(question: &str) -> anyhow::Result<bool> {
    let question = sanitize_line(&format!("{question} [y/N] "));
    forget_typed();
    let mut err = io::stderr().lock();
    err.write_all(question.as_bytes())?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Asks as [`confirmed`] does.
///
/// # Errors
/// When no person is at a terminal.
pub(crate) fn agreed(question: &str) -> anyhow::Result<bool> {
    anyhow::ensure!(
        io::stdin().is_terminal() && io::stderr().is_terminal(),
        "nobody to ask; look at what is shown, then use --yes"
    );
    confirmed(question)
}

/// Drops what was typed before the question was there: it was no answer to it.
fn forget_typed() {
    #[cfg(unix)]
    if is_up(Defence::TypeAhead) {
        use rustix::termios::{QueueSelector, tcflush};
        // What is no terminal has nothing typed into it.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}
