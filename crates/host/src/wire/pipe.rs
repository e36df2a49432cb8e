//! The pipes of an extension: their sizes, and the end that the host reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::ChildStdout;

/// A line of so many bytes is long: a pipe that carries one is made larger.
pub(crate) const LONG_LINE: usize = 64 * 1024;

/// The size of a pipe that carries long lines: the most that a user may have unless the system is told otherwise.
pub(crate) const WIDE: usize = 1024 * 1024;

pub(crate) enum StdoutReader {
    Pipe(ChildStdout),
    Stream(Box<dyn AsyncRead + Send + Unpin>),
}

impl StdoutReader {
    /// Makes room in the pipe for a long line, if the system grants it.
    pub(crate) fn widen(&self) {
        if let Self::Pipe(pipe) = self {
            widen(pipe);
        }
    }
}

/// A user may have 64 pipes of this size, and past 1024 pipes even the usual size is not granted: only a pipe that
/// carries long lines is made larger, and one that cannot be works all the same.
#[cfg(target_os = "linux")]
pub(crate) fn widen(pipe: &impl std::os::fd::AsFd) {
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(pipe, WIDE) {
        tracing::debug!(%error, "a pipe keeps its size");
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn widen<T>(_: &T) {}

impl AsyncRead for StdoutReader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, into),
            Self::Stream(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}
