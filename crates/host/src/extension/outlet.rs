//! Where an extension is written to.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
#[cfg(unix)]
use tokio::net::unix::pipe;
use tokio::process::ChildStdin;

use super::connection::widen;

/// See the module.
pub(crate) enum Outlet {
    /// The standard input of a process.
    Process(ChildStdin),
    /// The same after it has moved from one runtime to another.
    #[cfg(unix)]
    Pipe(pipe::Sender),
    /// Anything else.
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
}

impl Outlet {
    /// Whether it can move to another runtime.
    pub(crate) fn can_move(&self) -> bool {
        match self {
            Self::Process(_) => cfg!(unix),
            #[cfg(unix)]
            Self::Pipe(_) => true,
            Self::Stream(_) => false,
        }
    }

    /// Moves a pipe to the runtime that this is called on.
    ///
    /// # Errors
    /// The system's; the pipe is closed then.
    #[cfg(unix)]
    pub(crate) fn moved(self) -> io::Result<Self> {
        let end = match self {
            Self::Process(stdin) => stdin.into_owned_fd()?,
            Self::Pipe(pipe) => pipe.into_nonblocking_fd()?,
            Self::Stream(_) => return Ok(self),
        };
        pipe::Sender::from_owned_fd(end).map(Self::Pipe)
    }

    /// Nothing moves here.
    #[cfg(not(unix))]
    pub(crate) fn moved(self) -> io::Result<Self> {
        Ok(self)
    }

    /// Makes room in the pipe for a long line, if the system grants it.
    pub(super) fn widen(&self) {
        match self {
            Self::Process(stdin) => widen(stdin),
            #[cfg(unix)]
            Self::Pipe(pipe) => widen(pipe),
            Self::Stream(_) => {}
        }
    }

    fn writer(&mut self) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self {
            Self::Process(stdin) => Pin::new(stdin),
            #[cfg(unix)]
            Self::Pipe(pipe) => Pin::new(pipe),
            Self::Stream(stream) => Pin::new(stream),
        }
    }
}

impl AsyncWrite for Outlet {
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
            Self::Process(stdin) => stdin.is_write_vectored(),
            #[cfg(unix)]
            Self::Pipe(pipe) => pipe.is_write_vectored(),
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

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process(_) => "Process",
            #[cfg(unix)]
            Self::Pipe(_) => "Pipe",
            Self::Stream(_) => "Stream",
        })
    }
}
