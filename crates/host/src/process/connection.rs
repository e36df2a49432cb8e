//! The connection to an extension.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::process::log::ExtensionLog;
use crate::process::{ExtensionProcess, ProcessPipes};
use crate::timeouts::DROPPED_PAUSE;
use crate::wire::pipe::StdoutReader;
use crate::wire::scratch;
use crate::wire::stdin_writer::StdinWriter;

/// The connection to an extension.
pub(crate) enum Connection {
    Process(Box<(ExtensionProcess, ProcessPipes)>),
    /// A pair of streams: an extension in this program, or a test.
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

/// Reads standard error until its end, so that an extension never blocks on it. Output beyond the limit is
/// read slowly, so that endless output does not occupy the shared thread.
async fn drain_stderr(mut stderr: ChildStderr, log: Arc<ExtensionLog>) {
    let logged = |text: &[u8]| (!text.is_empty()).then(|| log.log_stderr(text, Instant::now().into_std()));
    while let Ok(Some(room)) = scratch::read(&mut stderr, scratch::LARGEST, logged).await {
        if !room {
            sleep(DROPPED_PAUSE).await;
        }
    }
}
