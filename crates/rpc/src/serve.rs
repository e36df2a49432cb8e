//! `serve`: a client drives the sessions of this process.
//!
//! One task, the [`RpcServer`], takes the client's lines and the news of what is under way, one at a time, and decides with the
//! state machines of this crate what follows. Whatever takes time is a task of its own that it waits for. Events and
//! replies go into the [`ClientSink`], which one writer empties.

mod carry;
mod extension;
mod hub;
mod messages;
mod outcome;
mod route;
mod seat;
mod session;
mod setup;
mod work;

use std::io;
use std::pin::pin;
use std::sync::Arc;

use haft_protocol::rpc::{AuthToken, RpcRequest, ServerLine};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::door::AuthGate;
use crate::input::{LineRequestSource, RequestSource};
use crate::outbox::{LineEncoding, OutboxLimits};
use crate::outlet::ClientSink;
use crate::questions::QuestionBroker;
use crate::screen::ScreenFactory;
use crate::sessions::SessionProvider;
use crate::timeouts::LAST_WORDS;

use hub::{ConnectionError, RpcServer};

/// The options of [`serve`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The program's version, which `hello` says.
    pub version: String,
    /// The token that the first command must show, if any.
    pub token: Option<AuthToken>,
    /// The room for a client that reads slowly.
    pub room: OutboxLimits,
}

impl ServeOptions {
    /// For a program of this version, without a token.
    pub fn new(version: impl Into<String>) -> Self {
        Self { version: version.into(), token: None, room: OutboxLimits::default() }
    }
}

/// Why nothing is served any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
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
    /// A gate of the last session keeps failing, and the person did not continue without it.
    Stopped,
}

/// Why nothing was served, or no longer is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError<E> {
    /// The first session could not be opened.
    #[error("cannot open the first session")]
    First(E),
    /// The input cannot be read. What was accepted was finished.
    #[error("cannot read commands; start again with an input that can be read")]
    Input(#[source] io::Error),
    /// The output takes nothing more, although somebody has it open. What was worked on was aborted.
    #[error("cannot write replies and events; start again with an output that can be written")]
    Output(#[source] io::Error),
}

/// Serves a client until it has no more to say, or the program shall end. Every session is closed then: its extensions are
/// gone, what was said is on the disk, and no task is left. Needs a runtime with time.
///
/// # Errors
/// [`ServeError`].
pub async fn serve<S: SessionProvider>(
    cancel: &CancellationToken,
    sessions: Arc<S>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    options: ServeOptions,
) -> Result<EndReason, ServeError<S::Error>> {
    let outlet =
        ClientSink::new(options.room, LineEncoding::Text, AuthGate::requires_token(options.token.as_ref()));
    serve_client(cancel, sessions, LineRequestSource::new(input), &outlet, outlet.write(output), options)
        .await
}

/// [`serve`] for a client in the same process: it says requests and is told [`Line`]s, images with their data, and nobody
/// writes or reads JSON between them. The order is the same, and so is what is left out when lines wait; the token of the
/// options is not asked for. The client has no more to say when nobody can send requests any more, and is gone when it
/// drops the receiver of the lines. Nothing more comes when that receiver ends.
///
/// # Errors
/// [`ServeError::First`].
pub async fn serve_local<S: SessionProvider>(
    cancel: &CancellationToken,
    sessions: Arc<S>,
    requests: mpsc::UnboundedReceiver<RpcRequest>,
    lines: mpsc::Sender<ServerLine>,
    options: ServeOptions,
) -> Result<EndReason, ServeError<S::Error>> {
    let outlet = ClientSink::new(options.room, LineEncoding::Typed, false);
    let options = ServeOptions { token: None, ..options };
    serve_client(cancel, sessions, requests, &outlet, outlet.send_lines(lines), options).await
}

/// Serves a client whose commands come from `source` and whose lines `writer` takes out of the outlet.
async fn serve_client<S: SessionProvider>(
    cancel: &CancellationToken,
    sessions: Arc<S>,
    mut source: impl RequestSource,
    outlet: &ClientSink,
    writer: impl Future<Output = io::Result<()>>,
    options: ServeOptions,
) -> Result<EndReason, ServeError<S::Error>> {
    let questions = QuestionBroker::new(outlet.clone());
    let screens = ScreenFactory::new(outlet.clone(), questions.clone(), false);
    let Some(first) = cancel.run_until_cancelled(sessions.first(&screens)).await else {
        return Ok(EndReason::Cancelled);
    };
    let first = first.map_err(ServeError::First)?;
    let mut hub = RpcServer::new(sessions, first, outlet.clone(), questions, options);
    let mut writer = pin!(writer);
    let outcome = hub.run(cancel, &mut source, writer.as_mut()).await;
    outlet.close();
    // Also when the input broke, and when the client left while everything came to its end.
    if !outlet.drain(writer, LAST_WORDS).await {
        tracing::warn!("the client does not read any more; it was not told everything");
    }
    outcome.map_err(|broken| match broken {
        ConnectionError::Input(error) => ServeError::Input(error),
        ConnectionError::Output(error) => ServeError::Output(error),
    })
}
