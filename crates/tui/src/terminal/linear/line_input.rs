//! Typed lines, and the terminal's echo.

use std::io::{self, BufRead as _};
use std::time::Instant;

use tokio::sync::mpsc;

/// The capacity for lines that are not handled yet.
const WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct TimedLine {
    pub(super) line: String,
    pub(super) at: Instant,
}

/// Reads lines until the end of the input. The thread remains when the loop ends, because nothing can interrupt the
/// read.
pub(super) fn spawn_line_reader() -> io::Result<mpsc::Receiver<TimedLine>> {
    let (sender, lines) = mpsc::channel(WAITING);
    let reads = move || {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            }
            let text = String::from_utf8_lossy(&line);
            let line = text.trim_end_matches(['\n', '\r']).to_owned();
            if sender.blocking_send(TimedLine { line, at: Instant::now() }).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("typed lines".to_owned()).spawn(reads)?;
    Ok(lines)
}

/// The echo of the terminal, switched off. Dropping it switches the echo on.
#[derive(Debug, Default)]
pub(super) struct TerminalEcho {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl TerminalEcho {
    pub(super) fn set(&mut self, shown: bool) {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        match (shown, self.before.is_some()) {
            (true, true) => {
                if let Some(before) = self.before.take() {
                    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
                }
            }
            (false, false) => {
                let Ok(before) = tcgetattr(io::stdin()) else { return };
                let mut silent = before.clone();
                silent.local_modes.remove(LocalModes::ECHO);
                // Earlier input is not an answer.
                let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
                self.before = Some(before);
            }
            (true, false) | (false, true) => {}
        }
    }

    /// Drops text that was typed without enter.
    pub(super) fn forget_typed(&self) {
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// The echo of this system's consoles cannot be switched off.
#[cfg(not(unix))]
impl TerminalEcho {
    pub(super) fn set(&mut self, _: bool) {}

    pub(super) fn forget_typed(&self) {}
}

impl Drop for TerminalEcho {
    fn drop(&mut self) {
        self.set(true);
    }
}
