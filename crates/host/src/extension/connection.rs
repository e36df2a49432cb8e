//! How the two sides are joined.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::scratch;
use crate::log::Log;
use crate::process::{Pipes, Process};
use crate::timeouts::DROPPED_PAUSE;

/// A line of so many bytes is long: a pipe that carries one is made larger.
pub(super) const LONG_LINE: usize = 64 * 1024;

/// The size of a pipe that carries long lines: the most that a user may have unless the system is told otherwise.
#[cfg(target_os = "linux")]
const WIDE: usize = 1024 * 1024;

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

/// What an extension writes.
pub(super) enum Output {
    Pipe(ChildStdout),
    Stream(Box<dyn AsyncRead + Send + Unpin>),
}

/// What an extension reads.
pub(super) enum Input {
    Pipe(ChildStdin),
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
}

pub(super) type Opened = (Option<Process>, Output, Input, Option<JoinHandle<()>>);

pub(super) fn opened(connection: Connection, log: &Arc<Log>) -> Opened {
    match connection {
        Connection::Process(started) => {
            let (process, pipes) = *started;
            let stderr = tokio::spawn(drain_stderr(pipes.stderr, Arc::clone(log)));
            (Some(process), Output::Pipe(pipes.stdout), Input::Pipe(pipes.stdin), Some(stderr))
        }
        Connection::Streams(reader, writer) => (None, Output::Stream(reader), Input::Stream(writer), None),
    }
}

impl Output {
    /// Makes room in the pipe for a long line, if the system grants it.
    pub(super) fn widen(&self) {
        if let Self::Pipe(pipe) = self {
            widen(pipe);
        }
    }
}

impl Input {
    /// Makes room in the pipe for a long line, if the system grants it.
    pub(super) fn widen(&self) {
        if let Self::Pipe(pipe) = self {
            widen(pipe);
        }
    }
}

/// A user may have 64 pipes of this size, and past 1024 pipes even the usual size is not granted: only a pipe that
/// carries long lines is made larger, and one that cannot be works all the same.
#[cfg(target_os = "linux")]
fn widen(pipe: &impl std::os::fd::AsFd) {
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(pipe, WIDE) {
        tracing::debug!(%error, "a pipe keeps its size");
    }
}

#[cfg(not(target_os = "linux"))]
fn widen<T>(_: &T) {}

impl AsyncRead for Output {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, into),
            Self::Stream(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            Self::Stream(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_flush(cx),
            Self::Stream(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
            Self::Stream(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// Reads standard error until it ends, so that an extension never blocks on it. What is dropped is read slowly: one
/// that prints without end must not keep the thread that everybody shares.
async fn drain_stderr(mut stderr: ChildStderr, log: Arc<Log>) {
    let logged = |text: &[u8]| (!text.is_empty()).then(|| log.stderr(text, Instant::now().into_std()));
    while let Ok(Some(room)) = scratch::read(&mut stderr, scratch::LARGEST, logged).await {
        if !room {
            sleep(DROPPED_PAUSE).await;
        }
    }
}
