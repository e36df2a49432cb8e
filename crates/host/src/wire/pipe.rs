//! The pipes of an extension: their sizes, and the end that the host reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::ChildStdout;

/// The length from which a line is long; its pipe is then enlarged.
pub(crate) const LONG_LINE: usize = 64 * 1024;

/// The size of a pipe for long lines: the default maximum for a user.
pub(crate) const WIDE: usize = 1024 * 1024;

pub(crate) enum StdoutReader {
    Pipe(ChildStdout),
    Stream(Box<dyn AsyncRead + Send + Unpin>),
}

impl StdoutReader {
    /// Enlarges the pipe for a long line, if the system allows it.
    pub(crate) fn enlarge_pipe(&self) {
        if let Self::Pipe(pipe) = self {
            widen(pipe);
        }
    }
}

/// Enlarges a pipe. A user can have 64 pipes of this size, and beyond 1024 pipes even the default size is
/// refused. So only pipes with long lines are enlarged, and a pipe that cannot be enlarged still works.
#[cfg(target_os = "linux")]
pub(crate) fn widen(pipe: &impl std::os::fd::AsFd) {
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(pipe, WIDE) {
        tracing::debug!(%error, "cannot enlarge a pipe");
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
