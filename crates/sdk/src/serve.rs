//! One connection over streams that do not block: opening, frames in, handlers, frames out, the end.

use haft_protocol::ext::ShutdownAck;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;

use crate::dispatch::{Dispatch, Dispatcher, Flow};
use crate::error::ServeError;
use crate::extension::Extension;
use crate::outbox::{self, Outbox};
use crate::work::runtimes::Runtimes;

pub(crate) mod lines;

use lines::Lines;

/// `handled` is a line to send after each event and panel event that was dealt with; for the harness.
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
    let dispatcher = |outbox: Outbox| {
        outbox.push_all(&extension.opening());
        Dispatcher::new(extension, outbox, Runtimes::Given(Handle::current()), handled)
    };
    on_streams(dispatcher, reader, writer).await
}

pub(crate) async fn on_streams<D, R, W>(
    dispatcher: impl FnOnce(Outbox) -> D + Send,
    reader: R,
    writer: W,
) -> Result<(), ServeError>
where
    D: Dispatch + Send,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    let (outbox, queue) = Outbox::queue();
    let dispatcher = dispatcher(outbox.clone());
    let reading = async {
        let outcome = converse(dispatcher, reader, &outbox).await;
        outbox.close();
        outcome
    };
    let writing = async { outbox::write_all(&outbox, queue, writer).await.map_err(ServeError::from) };
    tokio::try_join!(reading, writing).map(|((), ())| ())
}

/// Reads and dispatches until the connection ends, then lets the handlers finish.
async fn converse<D: Dispatch + Send, R: AsyncRead + Send + Unpin>(
    mut dispatcher: D,
    reader: R,
    outbox: &Outbox,
) -> Result<(), ServeError> {
    let mut lines = Lines::new(reader, D::LONGEST_LINE);
    let mut flow = Flow::Continue;
    while flow == Flow::Continue {
        flow = match lines.next().await? {
            Some(line) => dispatcher.line(line)?,
            None => Flow::EndOfInput,
        };
    }
    // The runtime is the caller's, with all that was left behind in it.
    drop(dispatcher.end().finish().await);
    if flow == Flow::Shutdown {
        outbox.push(ShutdownAck {});
    }
    Ok(())
}
