//! `TerminalGuard`: the terminal while haft has it. However haft ends, the terminal is given back as it was.
//!
//! What was done to the terminal is kept in one place of the process, since whoever gives it back may be the drop of the
//! guard, or the hook of a panic that comes before it. A panic of the thread that has the terminal gives it back first
//! and is told then. One of another thread, which may be a tool's or an extension's, leaves it alone and is told once it
//! is given back: until then, what it says would be written over the picture.

use std::io::{self, IsTerminal as _, Write as _};
use std::panic::PanicHookInfo;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::ThreadId;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::TerminalError;
use super::modes::TerminalModes;
use super::out;

/// The owner of the terminal, and its modes.
static TAKEN: Mutex<Option<TakenTerminal>> = Mutex::new(None);

/// The messages of panics that could not be shown yet.
static UNTOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

static HOOK: Once = Once::new();

/// The most panics that are told afterwards.
const MOST_UNTOLD: usize = 20;

#[derive(Debug, Clone, Copy)]
struct TakenTerminal {
    modes: TerminalModes,
    by: ThreadId,
}

/// The terminal, as long as haft has it; dropping it gives it back.
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

    /// Takes it again after it was given back, or after somebody else may have changed it.
    pub(super) fn retake(&self) -> Result<(), TerminalError> {
        let mut taken = lock(&TAKEN);
        let again = taken.is_some();
        if again {
            // What is remembered as the terminal's own mode stays, and the mode is surely set.
            disable_raw_mode().map_err(TerminalError::SetUp)?;
        }
        enable_raw_mode().map_err(TerminalError::SetUp)?;
        *taken = Some(TakenTerminal { modes: self.modes, by: std::thread::current().id() });
        drop(taken);
        prepare(self.modes);
        let modes = if again { self.modes.reenter_sequence() } else { self.modes.enter_sequence() };
        out::write(&modes).map_err(TerminalError::Write)
    }

    pub(super) fn switch_modes(&mut self, modes: TerminalModes) -> Result<(), TerminalError> {
        let before = std::mem::replace(&mut self.modes, modes);
        let mut taken = lock(&TAKEN);
        let Some(taken_as) = taken.as_mut() else { return Ok(()) };
        taken_as.modes = modes;
        drop(taken);
        out::write(&before.switch_sequence(modes)).map_err(TerminalError::Write)
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

/// A terminal that is gone cannot be given back, and nobody is there to be told.
fn give_back() {
    let Some(TakenTerminal { modes, .. }) = lock(&TAKEN).take() else { return };
    let _ = out::write(&modes.leave_sequence());
    let _ = disable_raw_mode();
}

fn on_panic(info: &PanicHookInfo<'_>, before: &(dyn Fn(&PanicHookInfo<'_>) + Sync + Send)) {
    let taken = *lock(&TAKEN);
    if taken.is_some_and(|taken| taken.by != std::thread::current().id()) {
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
        // Nothing more can be done about an error here.
        let _ = writeln!(io::stderr(), "{}", haft_core::sanitize::sanitize(&text));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Consoles of Windows take sequences only when they are told to, and clicks only by another way.
#[cfg(windows)]
fn prepare(modes: TerminalModes) {
    let _ = crossterm::ansi_support::supports_ansi();
    if modes.mouse {
        let _ = crossterm::execute!(io::stdout(), crossterm::event::EnableMouseCapture);
    }
}

#[cfg(not(windows))]
fn prepare(_: TerminalModes) {}
