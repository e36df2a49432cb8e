//! Lines as they are typed, and whether the terminal shows them while they are.

use std::io::{self, BufRead as _};
use std::time::Instant;

use tokio::sync::mpsc;

/// Lines that nobody has taken yet.
const WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct TimedLine {
    pub(super) line: String,
    pub(super) at: Instant,
}

/// Reads lines until there are none. The thread that does stays behind when the loop ends: nothing wakes a read.
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

/// The echo of the terminal. Dropping it has it shown again.
#[derive(Debug, Default)]
pub(super) struct Echo {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl Echo {
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
                // What was typed before was no answer.
                let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
                self.before = Some(before);
            }
            (true, false) | (false, true) => {}
        }
    }

    /// Drops text that was typed and not entered.
    pub(super) fn forget_typed(&self) {
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// Nothing is known of how the consoles of this system are told.
#[cfg(not(unix))]
impl Echo {
    pub(super) fn set(&mut self, _: bool) {}

    pub(super) fn forget_typed(&self) {}
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.set(true);
    }
}
