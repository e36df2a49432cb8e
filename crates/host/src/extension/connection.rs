//! How the two sides are joined.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::log::Log;
use crate::process::{Pipes, Process};
use crate::timeouts::DROPPED_PAUSE;

/// What a read of standard error takes at once: little, because most extensions say nothing there and each holds this
/// memory; up to a pipe full from one that says much.
const STDERR_CHUNK: RangeInclusive<usize> = 1024..=64 * 1024;

/// How the two sides are joined.
pub(crate) enum Connection {
    /// A child process.
    Process(Box<(Process, Pipes)>),
    /// Any pair of streams: an extension in this program, a test.
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process(_) => "Process",
            Self::Streams(..) => "Streams",
        })
    }
}

pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Opened =
    (Option<Process>, Reader, Box<dyn AsyncWrite + Send + Unpin>, Option<JoinHandle<()>>);

pub(super) fn opened(connection: Connection, log: &Arc<Log>) -> Opened {
    match connection {
        Connection::Process(started) => {
            let (process, pipes) = *started;
            let stderr = tokio::spawn(drain_stderr(pipes.stderr, Arc::clone(log)));
            (Some(process), Box::new(pipes.stdout), Box::new(pipes.stdin), Some(stderr))
        }
        Connection::Streams(reader, writer) => (None, reader, writer, None),
    }
}

/// Reads standard error until it ends, so that an extension never blocks on it. What is dropped is read slowly: one
/// that prints without end must not keep the thread that everybody shares.
async fn drain_stderr(mut stderr: ChildStderr, log: Arc<Log>) {
    let mut chunk = vec![0; *STDERR_CHUNK.start()];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let room = log.stderr(chunk.get(..read).unwrap_or_default(), Instant::now().into_std());
        if !room {
            sleep(DROPPED_PAUSE).await;
        }
        if read == chunk.len() {
            chunk.resize((2 * read).min(*STDERR_CHUNK.end()), 0);
        }
    }
}
