//! The connection of the two sides.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::process::log::ExtensionLog;
use crate::process::{ExtensionProcess, ProcessPipes};
use crate::timeouts::DROPPED_PAUSE;
use crate::wire::outlet::StdinWriter;
use crate::wire::pipe::StdoutReader;
use crate::wire::scratch;

/// The connection of the two sides.
pub(crate) enum Connection {
    Process(Box<(ExtensionProcess, ProcessPipes)>),
    /// Any pair of streams: an extension in this program, a test.
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

pub(crate) type ConnectionParts =
    (Option<ExtensionProcess>, StdoutReader, StdinWriter, Option<JoinHandle<()>>);

pub(crate) fn open_connection(connection: Connection, log: &Arc<ExtensionLog>) -> ConnectionParts {
    match connection {
        Connection::Process(started) => {
            let (process, pipes) = *started;
            let stderr = tokio::spawn(drain_stderr(pipes.stderr, Arc::clone(log)));
            (Some(process), StdoutReader::Pipe(pipes.stdout), StdinWriter::Process(pipes.stdin), Some(stderr))
        }
        Connection::Streams(reader, writer) => {
            (None, StdoutReader::Stream(reader), StdinWriter::Stream(writer), None)
        }
    }
}

/// Reads standard error until it ends, so that an extension never blocks on it. What is dropped is read slowly: one
/// that prints without end must not keep the thread that everybody shares.
async fn drain_stderr(mut stderr: ChildStderr, log: Arc<ExtensionLog>) {
    let logged = |text: &[u8]| (!text.is_empty()).then(|| log.log_stderr(text, Instant::now().into_std()));
    while let Ok(Some(room)) = scratch::read(&mut stderr, scratch::LARGEST, logged).await {
        if !room {
            sleep(DROPPED_PAUSE).await;
        }
    }
}
