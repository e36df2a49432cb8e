//! The writer for the standard input of an extension.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::StdinPipe;
#[cfg(unix)]
use super::pipe::widen;

/// The writer for the standard input of an extension.
pub(crate) enum StdinWriter {
    Process(StdinPipe),
    /// Any other stream.
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
}

impl StdinWriter {
    /// Enlarges the pipe for a long line, if the system allows it.
    pub(crate) fn enlarge_pipe(&self) {
        match self {
            #[cfg(unix)]
            Self::Process(input) => input.write_end().iter().for_each(widen),
            #[cfg(not(unix))]
            Self::Process(_) => {}
            Self::Stream(_) => {}
        }
    }

    fn writer(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self {
            Self::Process(input) => Pin::new(input),
            Self::Stream(stream) => Pin::new(stream),
        }
    }
}

impl AsyncWrite for StdinWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writer().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writer().poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Process(input) => input.is_write_vectored(),
            Self::Stream(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_shutdown(context)
    }
}
