//! `serve`: a client drives sessions of this process.

use std::sync::Arc;

use haft_protocol::rpc::Token;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::outbox::Room;
use crate::sessions::Sessions;

/// What [`serve`] needs to know of the program.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The program's version, which `hello` says.
    pub version: String,
    /// What the first command must show, if it must.
    pub token: Option<Token>,
    /// How much may wait for a client that reads slowly.
    pub room: Room,
}

impl Options {
    /// For a program of this version, without a token.
    pub fn new(version: impl Into<String>) -> Self {
        Self { version: version.into(), token: None, room: Room::default() }
    }
}

/// Why nothing is served any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client says nothing more, and what was accepted is finished.
    Input,
    /// The client sent `shutdown`.
    Requested,
    /// The program was told to end.
    Cancelled,
    /// The client showed a wrong token.
    Refused,
    /// Nobody reads any more.
    Gone,
    /// What keeps watch over the last session is broken, and the person, or nobody, wanted to go on.
    Stopped,
}

/// Why nothing was served, or no longer is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError<E> {
    /// The first session could not be opened.
    #[error("cannot open the first session")]
    First(E),
    /// The input cannot be read.
    #[error("cannot read commands")]
    Input(#[source] std::io::Error),
}

/// Serves a client until it has no more to say, or the process shall end.
///
/// # Errors
/// [`ServeError`].
pub async fn serve<S: Sessions>(
    cancel: &CancellationToken,
    sessions: Arc<S>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    options: Options,
) -> Result<End, ServeError<S::Error>> {
    drop((cancel, sessions, input, output, options));
    unimplemented!()
}
