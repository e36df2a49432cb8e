//! `TerminalGuard`: ownership of the terminal. At every exit, the terminal is restored.
//!
//! The changes of the terminal are recorded in one place of the process, because either the guard's drop or an
//! earlier panic hook restores it. A panic of the owning thread restores the terminal first and is printed then. A
//! panic of another thread, for example of a tool, leaves the terminal alone. Its message is printed after the
//! terminal is restored, because otherwise it would overwrite the screen.

use std::io::{self, IsTerminal as _, Write as _};
use std::panic::PanicHookInfo;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::ThreadId;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::TerminalError;
use super::modes::TerminalModes;
use super::stdout;

/// The owner of the terminal, and its modes.
static TAKEN: Mutex<Option<TakenTerminal>> = Mutex::new(None);

/// The panic messages that could not be shown yet.
static UNTOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

static HOOK: Once = Once::new();

/// The maximum number of panic messages that are kept.
const MOST_UNTOLD: usize = 20;

#[derive(Debug, Clone, Copy)]
struct TakenTerminal {
    modes: TerminalModes,
    by: ThreadId,
}

/// Ownership of the terminal. Dropping it restores the terminal.
#[derive(Debug)]
#[must_use = "the terminal is given back when this is dropped"]
pub(super) struct TerminalGuard {
    modes: TerminalModes,
}

impl TerminalGuard {
    pub(super) fn take(modes: TerminalModes) -> Result<Self, TerminalError> {
        for (is_terminal, name) in
            [(io::stdin().is_terminal(), "standard input"), (io::stdout().is_terminal(), "standard output")]
        {
            if !is_terminal {
                return Err(TerminalError::NotATerminal(name));
            }
        }
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| on_panic(info, &before)));
        });
        let guard = Self { modes };
        guard.retake()?;
        Ok(guard)
    }

    /// Takes over the terminal again after it was released, or after another program may have changed it.
    pub(super) fn retake(&self) -> Result<(), TerminalError> {
        let mut taken = lock(&TAKEN);
        let again = taken.is_some();
        if again {
            // Disabling first keeps the saved mode, and ensures that raw mode is set again.
            disable_raw_mode().map_err(TerminalError::SetUp)?;
        }
        enable_raw_mode().map_err(TerminalError::SetUp)?;
        *taken = Some(TakenTerminal { modes: self.modes, by: std::thread::current().id() });
        drop(taken);
        prepare(self.modes);
        let modes = if again { self.modes.reenter_sequence() } else { self.modes.enter_sequence() };
        stdout::write(&modes).map_err(TerminalError::Write)
    }

    pub(super) fn switch_modes(&mut self, modes: TerminalModes) -> Result<(), TerminalError> {
        let before = std::mem::replace(&mut self.modes, modes);
        let mut taken = lock(&TAKEN);
        let Some(taken_as) = taken.as_mut() else { return Ok(()) };
        taken_as.modes = modes;
        drop(taken);
        stdout::write(&before.switch_sequence(modes)).map_err(TerminalError::Write)
    }

    pub(super) fn modes(&self) -> TerminalModes {
        self.modes
    }

    pub(super) fn give_back(&self) {
        give_back();
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
        print_deferred_panics();
    }
}

/// Restores the terminal. Errors are ignored: a terminal that is gone cannot be restored.
fn give_back() {
    let Some(TakenTerminal { modes, .. }) = lock(&TAKEN).take() else { return };
    let _ = stdout::write(&modes.leave_sequence());
    let _ = disable_raw_mode();
}

fn on_panic(info: &PanicHookInfo<'_>, before: &(dyn Fn(&PanicHookInfo<'_>) + Sync + Send)) {
    let taken = *lock(&TAKEN);
    if taken.is_some_and(|taken| taken.by != std::thread::current().id()) {
        tracing::error!(panic = %info, "a thread panicked");
        let mut untold = lock(&UNTOLD);
        if untold.len() < MOST_UNTOLD {
            untold.push(info.to_string());
        }
        return;
    }
    give_back();
    before(info);
}

fn print_deferred_panics() {
    for text in std::mem::take(&mut *lock(&UNTOLD)) {
        // An error here cannot be handled.
        let _ = writeln!(io::stderr(), "{}", haft_core::sanitize::sanitize(&text));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enables sequences on Windows consoles, which also need another way for clicks.
#[cfg(windows)]
fn prepare(modes: TerminalModes) {
    let _ = crossterm::ansi_support::supports_ansi();
    if modes.mouse {
        let _ = crossterm::execute!(io::stdout(), crossterm::event::EnableMouseCapture);
    }
}

#[cfg(not(windows))]
fn prepare(_: TerminalModes) {}
