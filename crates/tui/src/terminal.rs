//! The terminal and the loop: all of this crate that is not pure.
//!
//! [`run`] takes the terminal, and gives it back however it ends. In between it tells an [`UserInterface`] what happens, one
//! event at a time, does what that wants, and draws it: at once after a key, else at most sixty times a second, and not
//! at all while nothing happens. What writes to the terminal may wait for as long as the terminal does not read, so the
//! loop is for a thread, and a runtime, of its own; the binary makes both.
//!
//! Never in here: a process that is started, a file of the person's that is read. Those are the [`ProgramServices`]'s.
//!
//! Invariant: whatever way it ends (quitting, a signal, a panic, an error), the terminal is as it was. Enforced by
//! `tests/it/terminal.rs`.

mod driver;
mod editor;
mod environment;
mod guard;
mod images;
mod input;
mod lines;
mod modes;
mod osc;
mod out;
mod pace;
mod paint;
mod perform;
mod reply;
mod sgr;
mod signals;
mod strip;
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
pub use lines::run_linear;

/// The texts that are written to the terminal: for those who check it. What writes it is [`run`].
pub mod written {
    pub use super::images::ImagePainter;
    pub use super::lines::rows_text as lines;
    pub use super::osc::{clipboard_sequence, title_sequence};
    pub use super::paint::ScreenPainter;
    pub use super::strip::InlineViewport;
    pub use super::tail::tail_text as tail;
}

use driver::TerminalDriver;

/// The most columns and rows that are drawn: a terminal says what it likes.
const MOST_CELLS: (u16, u16) = (1024, 512);

/// The size of a terminal that does not report one.
const USUAL_CELLS: (u16, u16) = (80, 24);

fn terminal_size() -> (u16, u16) {
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    let (columns, rows) = if columns == 0 || rows == 0 { USUAL_CELLS } else { (columns, rows) };
    (columns.min(MOST_CELLS.0), rows.min(MOST_CELLS.1))
}

/// Answers of the program that nobody has taken yet.
const ANSWERS: usize = 64;

/// Lines that are taken in before anything else has its turn.
const MOST_LINES: usize = 1024;

/// The part that only the program can do.
#[async_trait]
pub trait ProgramServices: Send + Sync + 'static {
    /// Answers a question, or does what is asked. Several are under way at the same time. The channel is short: an answer
    /// waits until the interface takes it, and one that nobody takes any more is dropped.
    async fn answer(&self, ask: BackendRequest, answers: mpsc::Sender<BackendReply>);

    /// Runs the person's editor in the terminal, which is given back for that, and says its exit code: none when a signal
    /// ended it. The command is never empty; its last word is the file.
    ///
    /// # Errors
    /// When it cannot be started.
    async fn edit(&self, command: Vec<String>) -> io::Result<Option<i32>>;
}

/// The protocol of programs, in the same process.
#[derive(Debug)]
pub struct Connection {
    /// Commands.
    pub requests: mpsc::UnboundedSender<rpc::RpcRequest>,
    /// Replies, and what happens.
    pub lines: mpsc::Receiver<rpc::ServerLine>,
}

/// The setup of the terminal.
#[derive(Debug, Clone)]
pub struct TerminalSetup {
    /// The values of the environment's variables.
    pub environment: Environment,
    /// True if it is the terminal's own screen: what is printed there stays, and the terminal scrolls it.
    pub inline: bool,
    /// True if clicks and the wheel come as input. Selecting text with the mouse is the terminal's own, without.
    pub mouse: bool,
    /// Its background, when the person has said; else it is asked for.
    pub appearance: Option<Appearance>,
    /// The number of colours it shows, when the person has said; else the variables say.
    pub depth: Option<ColorDepth>,
    /// The number of rows of the transcript that are left on the normal screen.
    pub tail: usize,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The person quits.
    Quit,
    /// The system asked for it, with this signal.
    Signal(i32),
}

/// Runs an interface in the terminal until it is over. Needs a runtime of one thread with IO and time, and that thread
/// for itself.
///
/// # Errors
/// [`TerminalError`] when there is no terminal, or it is gone.
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

/// The interactive mode cannot begin, or go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// There is no terminal to talk to.
    #[error("{0} is not a terminal; for one answer without a terminal, run `haft -p`")]
    NotATerminal(&'static str),
    /// The terminal takes no settings.
    #[error("cannot set up the terminal; try `haft --linear`, which needs no terminal features")]
    SetUp(#[source] io::Error),
    /// Signals of the system cannot be listened to.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// The terminal is gone, or takes nothing any more.
    #[error("cannot write to the terminal")]
    Write(#[source] io::Error),
    /// No keys come any more.
    #[error("cannot read from the terminal")]
    Read(#[source] io::Error),
}
