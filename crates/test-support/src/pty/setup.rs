//! The program and the terminal to run it in.

use std::ffi::OsStr;
use std::io::Read;
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

use super::{Pty, SharedTerminal, TerminalInput, TerminalResponder, TerminalState};

/// The number of scrollback rows.
const SCROLLBACK: usize = 10_000;

/// A program and a terminal to run it in: 80 columns, 24 rows, `xterm-256color`. The terminal answers only queries for
/// the cursor position and its own type. The program's environment contains only `PATH` and `TERM`.
#[must_use = "the program starts with `spawn`"]
#[derive(Debug)]
pub struct PtySetup {
    command: CommandBuilder,
    size: PtySize,
    answers: TerminalResponder,
}

impl PtySetup {
    /// Creates a setup for this program.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = CommandBuilder::new(program);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color");
        let size = PtySize { rows: 24, cols: 80, ..PtySize::default() };
        Self { command, size, answers: TerminalResponder::default() }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    pub fn cwd(mut self, directory: &Path) -> Self {
        self.command.cwd(directory);
        self
    }

    /// Sets the number of columns and rows.
    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = PtySize { rows, cols: columns, ..PtySize::default() };
        self
    }

    /// Sets the pixels of a cell, which the terminal reports until its size changes.
    pub fn pixels(mut self, width: u16, height: u16) -> Self {
        self.size.pixel_width = self.size.cols * width;
        self.size.pixel_height = self.size.rows * height;
        self
    }

    /// Makes the terminal report its background, for example `rgb:ffff/ffff/ffff`.
    pub fn background(mut self, color: &str) -> Self {
        self.answers.background = Some(color.to_owned());
        self
    }

    /// Makes the terminal report support for kitty's keyboard protocol. Keys are sent in the legacy form.
    pub fn kitty(mut self) -> Self {
        self.answers.kitty = true;
        self
    }

    /// Makes the terminal answer no queries.
    pub fn without_answers(mut self) -> Self {
        self.answers.deaf = true;
        self
    }

    /// Starts the program.
    ///
    /// # Panics
    /// Panics if the terminal or the program cannot be started.
    #[track_caller]
    pub fn spawn(self) -> Pty {
        let pair = match native_pty_system().openpty(self.size) {
            Ok(pair) => pair,
            Err(error) => panic!("cannot open a terminal: {error}"),
        };
        let child = match pair.slave.spawn_command(self.command) {
            Ok(child) => child,
            Err(error) => panic!("cannot start the program: {error}"),
        };
        drop(pair.slave);
        let reader = pair.master.try_clone_reader().expect("a new terminal can be read");
        let writer = pair.master.take_writer().expect("a new terminal can be written to");
        let input: TerminalInput = Arc::new(Mutex::new(writer));
        let (rows, columns) = (cell_count(self.size.rows), cell_count(self.size.cols));
        let parser = vt100::Parser::new_with_callbacks(rows, columns, SCROLLBACK, self.answers);
        let state = TerminalState { parser, bytes: Vec::new(), silent: false, status: None };
        let shared = Arc::new(SharedTerminal { state: Mutex::new(state), changed: Condvar::new() });
        let pid = child.process_id();
        std::thread::spawn({
            let (shared, input) = (shared.clone(), input.clone());
            move || read(&shared, reader, &input)
        });
        std::thread::spawn({
            let shared = shared.clone();
            move || wait(&shared, child)
        });
        Pty { shared, master: Mutex::new(pair.master), input, pid }
    }
}

pub(super) fn cell_count(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has columns and rows")
}

/// Reads until the end of the output, which is an error on Linux.
fn read(shared: &SharedTerminal, mut reader: Box<dyn Read + Send>, input: &TerminalInput) {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        let bytes = piece.get(..length).unwrap_or_default();
        let mut state = shared.state();
        state.bytes.extend_from_slice(bytes);
        state.parser.process(bytes);
        let due = std::mem::take(&mut state.parser.callbacks_mut().due);
        drop(state);
        shared.changed.notify_all();
        if !due.is_empty() {
            let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
            // A program that has ended needs no answer.
            let _ = std::io::Write::write_all(&mut *input, &due);
        }
    }
    shared.state().silent = true;
    shared.changed.notify_all();
}

fn wait(shared: &SharedTerminal, mut child: Box<dyn Child + Send + Sync>) {
    let status = child.wait();
    shared.state().status =
        Some(status.unwrap_or_else(|_| portable_pty::ExitStatus::with_exit_code(u32::MAX)));
    shared.changed.notify_all();
}
