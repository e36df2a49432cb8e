//! A terminal at which a secret is typed.

use std::io;

#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// How the terminal of standard input was; nothing where it is none, or cannot be changed.
#[derive(Debug, Clone)]
pub(crate) struct Terminal {
    #[cfg(unix)]
    before: Option<Termios>,
}

impl Terminal {
    /// As it is now.
    pub(crate) fn stdin() -> Self {
        Self {
            #[cfg(unix)]
            before: tcgetattr(io::stdin()).ok(),
        }
    }

    /// Makes it what it was.
    pub(crate) fn restore(&self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }

    /// From here on what is typed is not shown. What was typed before is dropped: it was no answer.
    fn silence(&self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        }
    }
}

/// What is typed behind the prompt, up to the end of the line.
pub(super) fn secret(prompt: &str) -> io::Result<String> {
    let terminal = Terminal::stdin();
    // Before the prompt: what is typed or pasted at once would be shown.
    terminal.silence();
    let typed = rpassword::prompt_password(prompt);
    terminal.restore();
    typed
}
