//! Runs a program in a terminal: its screen, its commands for the terminal, keys, sizes, signals.
//!
//! A [`Pty`] continuously reads the output of its program into a terminal in memory (`vt100`). Tests wait for a
//! condition instead of a time: a wait ends when the condition holds, and fails after [`PATIENCE`] with a picture of
//! the screen. Only complete frames are visible: output within a synchronized update (`CSI ? 2026 h` to `l`) appears at
//! its end.

mod answers;
mod html;
mod keys;
mod setup;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portable_pty::{ExitStatus, MasterPty, PtySize};

pub use answers::TerminalCommands;
pub use html::{ColorScheme, render_page};
pub use keys::key;
pub use setup::PtySetup;
pub use vt100;

pub use crate::PATIENCE;
use answers::TerminalResponder;

/// The size of the last output that an error quotes.
const QUOTED: usize = 400;

type TerminalInput = Arc<Mutex<Box<dyn std::io::Write + Send>>>;

/// A program in a terminal; dropping this kills the program.
pub struct Pty {
    shared: Arc<SharedTerminal>,
    /// The writer is locked, because several threads may use the terminal.
    master: Mutex<Box<dyn MasterPty + Send>>,
    input: TerminalInput,
    pid: Option<u32>,
}

/// The state that the reader and the waiting threads share.
struct SharedTerminal {
    state: Mutex<TerminalState>,
    changed: Condvar,
}

struct TerminalState {
    parser: vt100::Parser<TerminalResponder>,
    /// All output so far.
    bytes: Vec<u8>,
    /// True if no more output will come.
    silent: bool,
    status: Option<ExitStatus>,
}

/// The exit of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramExit {
    /// The exit code.
    pub code: u32,
    /// The signal that ended the program, as the system describes it.
    pub signal: Option<String>,
}

impl Pty {
    /// Types these bytes.
    #[track_caller]
    pub fn send(&self, bytes: impl AsRef<[u8]>) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = input.write_all(bytes.as_ref()).and_then(|()| input.flush());
        if let Err(error) = sent {
            self.fail(&format!("cannot type {:?}: {error}", String::from_utf8_lossy(bytes.as_ref())));
        }
    }

    /// Presses keys by their names in [`key`].
    #[track_caller]
    pub fn press(&self, names: &[&str]) {
        names.iter().for_each(|name| self.send(key(name)));
    }

    /// Pastes a text, as a terminal does with bracketed paste.
    #[track_caller]
    pub fn paste(&self, text: &str) {
        self.send(format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Resizes the terminal.
    #[track_caller]
    pub fn resize(&self, columns: u16, rows: u16) {
        self.state().parser.set_size(setup::cell_count(rows), setup::cell_count(columns));
        let size = PtySize { rows, cols: columns, ..PtySize::default() };
        if let Err(error) = self.master.lock().unwrap_or_else(PoisonError::into_inner).resize(size) {
            self.fail(&format!("cannot resize to {columns} x {rows}: {error}"));
        }
    }

    /// Waits until the screen contains a text. Rows are joined by newlines, without trailing blanks.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let wanted = without_blanks(text.split('\n'));
        self.wait_until(&format!("{text:?} on the screen"), |screen| content(screen).contains(&wanted));
    }

    /// Waits until the screen does not contain a text.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) {
        let unwanted = without_blanks(text.split('\n'));
        self.wait_until(&format!("no {text:?} on the screen"), |screen| !content(screen).contains(&unwanted));
    }

    /// Waits until the screen fulfills a condition; `what` describes the condition in errors.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut is_so: impl FnMut(&vt100::Screen) -> bool) {
        self.wait(what, |state| !state.parser.callbacks().in_frame && is_so(state.parser.screen()));
    }

    /// Waits for these bytes in the output, starting at an offset of [`bytes`](Self::bytes).
    #[track_caller]
    pub fn wait_for_bytes(&self, from: usize, wanted: &[u8]) {
        self.wait(&format!("the bytes {:?}", String::from_utf8_lossy(wanted)), |state| {
            state
                .bytes
                .get(from..)
                .is_some_and(|bytes| bytes.windows(wanted.len()).any(|part| part == wanted))
        });
    }

    /// Waits until the terminal commands fulfill a condition.
    #[track_caller]
    pub fn wait_for_commands(&self, what: &str, mut is_so: impl FnMut(&TerminalCommands) -> bool) {
        self.wait(what, |state| is_so(&state.parser.callbacks().told));
    }

    /// Waits until the program has ended and all output is read.
    #[track_caller]
    pub fn wait_for_end(&self) -> ProgramExit {
        self.wait("the end of the program", |state| state.silent && state.status.is_some());
        let status = self.state().status.clone();
        let signal = status.as_ref().and_then(|status| status.signal().map(str::to_owned));
        ProgramExit { code: status.map_or(0, |status| status.exit_code()), signal }
    }

    /// Returns the number of bytes printed within this time. Use it only to check for silence.
    pub fn printed_within(&self, time: Duration) -> usize {
        let before = self.state().bytes.len();
        let ends = Instant::now() + time;
        let mut state = self.state();
        while let Some(left) = ends.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            state = self.shared.wait_changed(state, left);
        }
        state.bytes.len() - before
    }

    /// Returns how often the program's threads are woken within this time, without threads that end in between. Returns
    /// `None` on systems that do not count it.
    ///
    /// # Panics
    /// Panics if the program has ended.
    #[track_caller]
    pub fn wake_ups_within(&self, time: Duration) -> Option<u64> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let before = self.wake_ups();
        self.printed_within(time);
        let after = self.wake_ups().into_iter();
        Some(after.map(|(task, count)| count.saturating_sub(before.get(&task).copied().unwrap_or(0))).sum())
    }

    /// Returns the number of wake-ups of each of the program's threads.
    #[track_caller]
    fn wake_ups(&self) -> BTreeMap<OsString, u64> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid.unwrap_or_default()));
        let Ok(tasks) = tasks else { self.fail("cannot count wake-ups: the program has ended") };
        let counted = tasks.flatten().filter_map(|task| {
            let status = std::fs::read_to_string(task.path().join("status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            Some((task.file_name(), line.trim().parse::<u64>().ok()?))
        });
        counted.collect()
    }

    /// Sends a signal to the program.
    #[cfg(unix)]
    #[track_caller]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = self.pid.and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?));
        let running = self.state().status.is_none();
        let sent = pid.filter(|_| running).map(|pid| rustix::process::kill_process(pid, signal));
        if !matches!(sent, Some(Ok(()))) {
            self.fail(&format!("cannot send {signal:?}: {sent:?}"));
        }
    }

    /// Returns the process id, if it is known.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Returns all output so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// Returns the commands for the terminal, apart from text.
    pub fn terminal_commands(&self) -> TerminalCommands {
        self.state().parser.callbacks().told.clone()
    }

    /// Returns the screen: cells, colors, cursor, modes.
    pub fn screen(&self) -> vt100::Screen {
        self.state().parser.screen().clone()
    }

    /// Returns the rows of the screen as text, without trailing blanks.
    pub fn rows(&self) -> Vec<String> {
        rows(self.state().parser.screen()).collect()
    }

    /// Returns the scrollback rows, oldest first, followed by the rows of the screen.
    pub fn history(&self) -> Vec<String> {
        let mut screen = self.screen();
        let mut all = Vec::new();
        for back in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(back);
            all.extend(rows(&screen).next());
        }
        screen.set_scrollback(0);
        all.extend(rows(&screen));
        all
    }

    /// Fails the test with a problem and the visible state.
    #[track_caller]
    pub fn fail(&self, problem: &str) -> ! {
        panic!("{}", describe_state(&self.state(), problem));
    }

    #[track_caller]
    fn wait(&self, what: &str, mut is_so: impl FnMut(&TerminalState) -> bool) {
        let ends = Instant::now() + PATIENCE;
        let mut state = self.state();
        while !is_so(&state) {
            let over = state.silent && state.status.is_some();
            let left = ends.saturating_duration_since(Instant::now());
            if over || left.is_zero() {
                let why = if over {
                    "the program has ended".to_owned()
                } else {
                    format!("{PATIENCE:?} have passed")
                };
                let text = describe_state(&state, &format!("waited for {what}, but {why}"));
                drop(state);
                panic!("{text}");
            }
            state = self.shared.wait_changed(state, left);
        }
    }

    fn state(&self) -> MutexGuard<'_, TerminalState> {
        self.shared.state()
    }
}

impl SharedTerminal {
    fn state(&self) -> MutexGuard<'_, TerminalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_changed<'a>(
        &self,
        state: MutexGuard<'a, TerminalState>,
        most: Duration,
    ) -> MutexGuard<'a, TerminalState> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if self.state().status.is_some() {
            return;
        }
        #[cfg(unix)]
        if let Some(pid) = self.pid.and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)) {
            // The program leads a session and a process group. Its other process groups get a hang-up when the terminal
            // closes.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

impl std::fmt::Debug for Pty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&describe_state(&self.state(), "a terminal"))
    }
}

fn rows(screen: &vt100::Screen) -> impl Iterator<Item = String> {
    let columns = screen.size().1.get();
    screen.rows(0, columns).map(|row| row.trim_end().to_owned())
}

fn content(screen: &vt100::Screen) -> String {
    rows(screen).collect::<Vec<_>>().join("\n")
}

fn without_blanks<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Describes the visible state for an error.
fn describe_state(state: &TerminalState, problem: &str) -> String {
    let screen = state.parser.screen();
    let (height, width) = screen.size();
    let mut text = format!("{problem}\n┌{}┐ {width}x{height}\n", "─".repeat(width.get().into()));
    for row in rows(screen) {
        let _ = writeln!(text, "│{row}");
    }
    let _ = writeln!(text, "└{}┘", "─".repeat(width.get().into()));
    let (row, column) = screen.cursor_position();
    let hidden = if screen.hide_cursor() { "hidden" } else { "shown" };
    let _ = writeln!(text, "cursor: row {row}, column {column}, {hidden}");
    let (alternate, paste) = (screen.alternate_screen(), screen.bracketed_paste());
    let frame = state.parser.callbacks().in_frame;
    let _ =
        writeln!(text, "alternate screen: {alternate}, bracketed paste: {paste}, inside a frame: {frame}");
    let _ = match &state.status {
        Some(status) => writeln!(text, "program: {status}"),
        None => writeln!(text, "program: running"),
    };
    let last = state.bytes.get(state.bytes.len().saturating_sub(QUOTED)..).unwrap_or_default();
    let _ = writeln!(text, "{} bytes, the last: {:?}", state.bytes.len(), String::from_utf8_lossy(last));
    text
}
