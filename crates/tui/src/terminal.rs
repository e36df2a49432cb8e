//! The terminal and the event loop: the impure part of this crate.
//!
//! [`run`] takes over the terminal and restores it at every exit. In between it passes events to a [`UserInterface`],
//! one at a time, performs the resulting effects, and draws. It draws at once after a key, otherwise at most sixty
//! times a second, and not at all while nothing happens. Writing blocks while the terminal does not read, so the loop
//! needs its own thread and runtime; the binary makes both.
//!
//! This module never starts a process or reads a user's file. [`ProgramServices`] does that.
//!
//! Invariant: after every exit (quitting, a signal, a panic, an error), the terminal is as before. Enforced by
//! `tests/it/terminal.rs`.

mod burst;
mod driver;
mod effects;
mod environment;
mod external_editor;
mod foreground;
mod frame_limiter;
mod guard;
mod images;
mod inline_viewport;
mod input;
mod linear;
mod modes;
mod osc;
mod paint;
mod reply;
mod sgr;
mod signals;
mod stdout;
mod tail;

use std::io;
use std::sync::Arc;
use thiserror::Error;

use async_trait::async_trait;
use haft_protocol::rpc;
use tokio::sync::mpsc;

use crate::app::{BackendReply, BackendRequest};
use crate::theme::{Appearance, ColorDepth};

pub use crate::app::{InlineOutput, LinearInterface, UserInterface};
pub use environment::Environment;
pub use images::ImageProtocol;
pub use linear::run_linear;

/// The functions that produce the output for the terminal, for tests of that output. [`run`] writes it.
pub mod output {
    pub use super::images::ImagePainter;
    pub use super::inline_viewport::InlineViewport;
    pub use super::linear::rows_text as lines;
    pub use super::osc::{clipboard_sequence, title_sequence};
    pub use super::paint::ScreenPainter;
    pub use super::tail::tail_text as tail;
}

use driver::TerminalDriver;

/// The maximum columns and rows to draw: a terminal may report any size.
const MOST_CELLS: (u16, u16) = (1024, 512);

/// The size of a terminal that does not report one.
const USUAL_CELLS: (u16, u16) = (80, 24);

fn terminal_size() -> (u16, u16) {
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    let (columns, rows) = if columns == 0 || rows == 0 { USUAL_CELLS } else { (columns, rows) };
    (columns.min(MOST_CELLS.0), rows.min(MOST_CELLS.1))
}

/// The capacity for answers of the program.
const ANSWERS: usize = 64;

/// The maximum number of lines handled in a row, before other events.
const MOST_LINES: usize = 1024;

/// Services that only the program can provide.
#[async_trait]
pub trait ProgramServices: Send + Sync + 'static {
    /// Answers a question or performs a request. Several run at the same time. The channel is short: an answer waits
    /// until the interface takes it, and is dropped after the interface has ended.
    async fn answer(&self, ask: BackendRequest, answers: mpsc::Sender<BackendReply>);

    /// Runs a program in the terminal, which is restored for that time, and returns its exit code: `None` if a signal
    /// ended it. The command is never empty.
    ///
    /// # Errors
    /// When it cannot be started.
    async fn run_in_terminal(&self, command: Vec<String>) -> io::Result<Option<i32>>;
}

/// An in-process connection that speaks the RPC protocol.
#[derive(Debug)]
pub struct Connection {
    /// Commands.
    pub requests: mpsc::UnboundedSender<rpc::RpcRequest>,
    /// Replies and events.
    pub lines: mpsc::Receiver<rpc::ServerLine>,
}

/// The setup of the terminal.
#[derive(Debug, Clone)]
pub struct TerminalSetup {
    /// The environment variables.
    pub environment: Environment,
    /// True for inline mode: output stays in the terminal's scrollback.
    pub inline: bool,
    /// True if clicks and the wheel arrive as input. Without it, the terminal selects text with the mouse.
    pub mouse: bool,
    /// The appearance set by the user. `None` asks the terminal for its background.
    pub appearance: Option<Appearance>,
    /// The color depth set by the user. `None` derives it from environment variables.
    pub depth: Option<ColorDepth>,
    /// The number of transcript rows left on the normal screen at exit.
    pub tail: usize,
}

/// The reason for the exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The user quit.
    Quit,
    /// This signal ended the program.
    Signal(i32),
}

/// Runs an interface in the terminal until it ends. Needs its own thread, and a single-threaded runtime with IO and
/// time.
///
/// # Errors
/// [`TerminalError`] if there is no terminal or it disappears.
pub async fn run<I: UserInterface, P: ProgramServices>(
    interface: I,
    program: Arc<P>,
    connection: Connection,
    setup: TerminalSetup,
) -> Result<ExitReason, TerminalError> {
    let mut driver = TerminalDriver::new(interface, program, connection, setup)?;
    let end = driver.run().await;
    driver.shut_down().await;
    end
}

/// The interactive mode cannot start or continue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// The stream is not a terminal.
    #[error("{0} is not a terminal; for one answer without a terminal, run `haft -p`")]
    NotATerminal(&'static str),
    /// The terminal rejects its settings.
    #[error("cannot set up the terminal; try `haft --linear`, which needs no terminal features")]
    SetUp(#[source] io::Error),
    /// Signal handlers cannot be installed.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// The terminal is gone or rejects output.
    #[error("cannot write to the terminal")]
    Write(#[source] io::Error),
    /// The terminal delivers no more input.
    #[error("cannot read from the terminal")]
    Read(#[source] io::Error),
}
