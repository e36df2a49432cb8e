//! Serves one connection over asynchronous streams, from the first frame to the last.

use haft_protocol::ext::ShutdownAck;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;

use crate::dispatch::{DispatchOutcome, FrameDispatcher, LineHandler};
use crate::error::ServeError;
use crate::extension::Extension;
use crate::outbox::{self, FrameOutbox};
use crate::running_handlers::runtimes::HandlerRuntimes;

pub(crate) mod lines;

use lines::LineReader;

/// Serves a connection. `handled` is a line to send after each handled event, for the harness.
pub(crate) async fn serve<R, W>(
    extension: Extension,
    reader: R,
    writer: W,
    handled: Option<&'static str>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    extension.check()?;
    let dispatcher = |outbox: FrameOutbox| {
        outbox.push_all(&extension.start_frames().opening_frames());
        FrameDispatcher::new(extension, outbox, HandlerRuntimes::Given(Handle::current()), handled)
    };
    serve_streams(dispatcher, reader, writer).await
}

/// Serves one connection over any pair of byte streams.
///
/// # Errors
/// [`ServeError`] if the connection breaks.
pub async fn serve_streams<D, R, W>(
    dispatcher: impl FnOnce(FrameOutbox) -> D + Send,
    reader: R,
    writer: W,
) -> Result<(), ServeError>
where
    D: LineHandler + Send,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    let (outbox, queue) = FrameOutbox::with_queue();
    let dispatcher = dispatcher(outbox.clone());
    let reading = async {
        let outcome = run_connection(dispatcher, reader, &outbox).await;
        outbox.close();
        outcome
    };
    let writing = async { outbox::write_all(&outbox, queue, writer).await.map_err(ServeError::from) };
    tokio::try_join!(reading, writing).map(|((), ())| ())
}

/// Reads and dispatches until the connection ends, then waits for the handlers.
async fn run_connection<D: LineHandler + Send, R: AsyncRead + Send + Unpin>(
    mut dispatcher: D,
    reader: R,
    outbox: &FrameOutbox,
) -> Result<(), ServeError> {
    let mut lines = LineReader::new(reader, D::LONGEST_LINE);
    let mut flow = DispatchOutcome::Continue;
    while flow == DispatchOutcome::Continue {
        flow = match lines.next().await? {
            Some(line) => dispatcher.handle_line(line)?,
            None => DispatchOutcome::EndOfInput,
        };
    }
    // The runtime belongs to the caller, as do the tasks left on it.
    drop(dispatcher.end().finish().await);
    if flow == DispatchOutcome::Shutdown {
        outbox.push(ShutdownAck {});
    }
    Ok(())
}
