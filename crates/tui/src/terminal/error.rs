//! What can go wrong with a terminal.

use std::io;

use thiserror::Error;

/// The interactive mode cannot begin, or go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// There is no terminal to talk to.
    #[error("{0} is no terminal; for one answer without a terminal, run `haft -p`")]
    NotATerminal(&'static str),
    /// The terminal takes no settings.
    #[error("cannot set up the terminal; try `haft --linear`, which needs nothing of it")]
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
