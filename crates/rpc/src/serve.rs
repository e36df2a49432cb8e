//! `serve`: a client drives the sessions of this process.
//!
//! The [`RpcServer`] is one task. It handles the lines of the client and the results of other
//! tasks, one at a time, with the state machines of this crate. Slow work runs in separate tasks.
//! Events and replies go into the [`ClientSink`], which one writer empties.

mod active_session;
mod background;
mod branch;
mod command_execution;
mod extension;
mod input;
mod jobs;
mod messages;
mod outcome;
mod record;
mod route;
mod server;
mod session;
mod session_owner;
mod setup;

use std::io;
use std::pin::pin;
use std::sync::Arc;

use haft_protocol::rpc::{AuthToken, RpcRequest, ServerLine};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::auth_gate::AuthGate;
use crate::client_sink::ClientSink;
use crate::extension_commands::ExtensionCommandQueue;
use crate::input::{LineRequestSource, RequestSource};
use crate::outbox::{LineEncoding, OutboxLimits};
use crate::question_broker::QuestionBroker;
use crate::screen::ScreenFactory;
use crate::session_provider::SessionProvider;
use crate::timeouts::LAST_WORDS;

pub use jobs::OwnRun;
use server::{ConnectionError, RpcServer};
pub use session_owner::{SessionEvents, SessionOwner};

/// The options of [`serve`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The version of the program, for the reply to `hello`.
    pub version: String,
    /// The token that the first command must present, if any.
    pub token: Option<AuthToken>,
    /// The tools whose calls need the approval of the person at the client, in addition to those that the
    /// client lists.
    pub approve: Vec<String>,
    /// True if `hello` fails for a name in `approve` that no tool has. Set to false for a client that
    /// shows such names to the user by itself.
    pub checks_approvals: bool,
    /// The limits for a client that reads slowly.
    pub room: OutboxLimits,
}

impl ServeOptions {
    /// Creates options with this program version, without a token.
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            version: version.into(),
            token: None,
            approve: Vec::new(),
            checks_approvals: true,
            room: OutboxLimits::default(),
        }
    }
}

/// The reason why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The client closed its input, and all accepted commands are finished.
    Input,
    /// The client sent `shutdown`.
    Requested,
    /// The program cancelled the server.
    Cancelled,
    /// The client presented a wrong token.
    Refused,
    /// The client no longer reads.
    Gone,
    /// A gate of the last session keeps failing, and the person chose not to continue without it.
    Stopped,
}

/// The reason why serving failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError<E> {
    /// The first session could not be opened.
    #[error("cannot open the first session")]
    First(E),
    /// The input cannot be read. Accepted commands were finished.
    #[error("cannot read commands; restart with a readable input")]
    Input(#[source] io::Error),
    /// The output is open but accepts no more data. The current work was aborted.
    #[error("cannot write replies and events; restart with a writable output")]
    Output(#[source] io::Error),
}

/// Serves a client until it closes its input or `cancel` is cancelled. All sessions are then
/// closed: their extensions have ended, their files are written, and no task is left. Needs a
/// runtime with a timer.
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

/// Serves a client in the same process like [`serve`], without JSON. The client sends requests and
/// receives [`ServerLine`]s, in which images keep their data. The order of lines and the limits are
/// those of [`serve`]; the token of the options is ignored. The client closes its input by dropping
/// all senders, and ends the connection by dropping the receiver. No lines follow after that
/// receiver ends.
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

/// Serves a client with requests from `source`. `writer` takes the lines out of the sink.
async fn serve_client<S: SessionProvider>(
    cancel: &CancellationToken,
    sessions: Arc<S>,
    mut source: impl RequestSource,
    outlet: &ClientSink,
    writer: impl Future<Output = io::Result<()>>,
    options: ServeOptions,
) -> Result<EndReason, ServeError<S::Error>> {
    let questions = QuestionBroker::new(outlet.clone(), options.approve.clone());
    let extension_commands = ExtensionCommandQueue::new();
    let screens =
        ScreenFactory::new(outlet.clone(), questions.clone(), extension_commands.command_sender(), false);
    let Some(first) = cancel.run_until_cancelled(sessions.first(&screens)).await else {
        return Ok(EndReason::Cancelled);
    };
    let first = first.map_err(ServeError::First)?;
    let mut hub = RpcServer::new(sessions, first, outlet.clone(), extension_commands, questions, options);
    let mut writer = pin!(writer);
    let outcome = hub.run(cancel, &mut source, writer.as_mut()).await;
    outlet.close();
    // Needed even if the input failed, or if the client left during the shutdown.
    if !outlet.drain(writer, LAST_WORDS).await {
        tracing::warn!("the client stopped reading; some lines were not delivered");
    }
    outcome.map_err(|broken| match broken {
        ConnectionError::Input(error) => ServeError::Input(error),
        ConnectionError::Output(error) => ServeError::Output(error),
    })
}
