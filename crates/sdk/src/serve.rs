//! One connection: opening, frames in, handlers, frames out, the end.

use std::fs::File;
use std::sync::Arc;

use haft_protocol::ext::ShutdownAck;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::dispatch::{Dispatcher, Flow};
use crate::error::ServeError;
use crate::extension::Extension;
use crate::host::Host;
use crate::outbox::{self, Outbox};

pub(crate) mod lines;

use lines::Lines;

/// How a connection is served.
#[derive(Debug)]
pub(crate) struct Options {
    /// Where everything but intercepts runs.
    pub(crate) workers: Handle,
    /// A line to send after each event and panel event that was dealt with; for the harness.
    pub(crate) handled: Option<&'static str>,
    /// Another handle on the pipe that is written to, if it is one and does not block.
    pub(crate) pipe: Option<File>,
}

impl Extension {
    /// Serves one connection over any pair of byte streams, all handlers on the caller's runtime: for tests, and for
    /// hosts that run an extension in their own process.
    ///
    /// Returns after `shutdown` or the end of input, when the handlers that were running are done or one second has
    /// passed. Must be polled inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// [`ServeError`] when the registrations are wrong, the connection breaks or the host speaks another version.
    pub async fn serve_on<R, W>(self, reader: R, writer: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin,
    {
        let options = Options { workers: Handle::current(), handled: None, pipe: None };
        serve(self, reader, writer, options).await
    }
}

pub(crate) async fn serve<R, W>(
    extension: Extension,
    reader: R,
    writer: W,
    mut options: Options,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    extension.check()?;
    let (outbox, queue) = Outbox::new(options.pipe.take());
    for frame in extension.opening() {
        outbox.push(frame);
    }
    let reading = async {
        let outcome = converse(extension, reader, &outbox, options).await;
        outbox.close();
        outcome
    };
    let writing = async { outbox::write_all(queue, writer).await.map_err(ServeError::from) };
    tokio::try_join!(reading, writing).map(|((), ())| ())
}

/// Reads and dispatches until the connection ends, then lets the handlers finish.
async fn converse<R: AsyncRead + Send + Unpin>(
    extension: Extension,
    reader: R,
    outbox: &Outbox,
    options: Options,
) -> Result<(), ServeError> {
    let (greeted, ack) = watch::channel(None);
    let host = Host::new(outbox.clone(), ack);
    let mut dispatcher = Dispatcher::new(Arc::new(extension), host, outbox.clone(), greeted, options);
    let mut lines = Lines::new(reader);
    let mut flow = Flow::Continue;
    while flow == Flow::Continue {
        flow = match lines.next().await? {
            Some(line) => dispatcher.line(line)?,
            None => Flow::EndOfInput,
        };
    }
    dispatcher.finish().await;
    if flow == Flow::Shutdown {
        outbox.push(ShutdownAck {});
    }
    Ok(())
}
