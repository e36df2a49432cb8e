//! The standard input of an extension. The pipe is watched only after it was full, which is rare. Watching it
//! would wake the host each time the extension reads.

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::fs::{OFlags, fcntl_setfl};
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;

/// The standard input of an extension. Closed on drop.
#[derive(Debug)]
pub(crate) struct StdinPipe(StdinPipeState);

#[derive(Debug)]
enum StdinPipeState {
    /// The pipe has never been full.
    Unwatched(PipeWriter),
    /// The pipe was full once, and the writer is woken when there is room.
    Watched(pipe::Sender),
    /// The pipe could not be watched.
    Closed,
}

impl StdinPipe {
    pub(crate) fn create() -> io::Result<(PipeReader, Self)> {
        let (theirs, ours) = io::pipe()?;
        // Only this end is changed: the extension's end stays as it is. The pipe is new, so no other flag is
        // lost.
        fcntl_setfl(&ours, OFlags::WRONLY | OFlags::NONBLOCK)?;
        Ok((theirs, Self(StdinPipeState::Unwatched(ours))))
    }

    /// Returns the pipe, unless it is closed.
    pub(crate) fn write_end(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            StdinPipeState::Unwatched(pipe) => Some(pipe.as_fd()),
            StdinPipeState::Watched(pipe) => Some(pipe.as_fd()),
            StdinPipeState::Closed => None,
        }
    }

    /// Writes as much as there is room for, and registers for a wake-up when there is none.
    fn write(
        &mut self,
        context: &mut Context<'_>,
        attempt: impl Fn(&mut PipeWriter) -> io::Result<usize>,
        later: impl FnOnce(Pin<&mut pipe::Sender>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match &mut self.0 {
                StdinPipeState::Watched(pipe) => return later(Pin::new(pipe), context),
                StdinPipeState::Closed => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                StdinPipeState::Unwatched(pipe) => match attempt(pipe) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.start_watching()?,
                    written => return Poll::Ready(written),
                },
            }
        }
    }

    fn start_watching(&mut self) -> io::Result<()> {
        if let StdinPipeState::Unwatched(pipe) = std::mem::replace(&mut self.0, StdinPipeState::Closed) {
            self.0 = StdinPipeState::Watched(pipe::Sender::from_owned_fd_unchecked(pipe.into())?);
        }
        Ok(())
    }
}

impl AsyncWrite for StdinPipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |pipe| pipe.write(bytes), |pipe, context| pipe.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let later = |pipe: Pin<&mut pipe::Sender>, context: &mut Context<'_>| {
            pipe.poll_write_vectored(context, parts)
        };
        self.write(context, |pipe| pipe.write_vectored(parts), later)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Written bytes are in the pipe, so there is nothing to flush.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Dropping a pipe closes it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use tokio::io::AsyncWriteExt as _;

    /// More than any pipe holds.
    const MUCH: usize = 4 * 1024 * 1024;

    #[tokio::test]
    async fn waits_for_full_pipe_and_loses_nothing() {
        let (mut theirs, mut ours) = StdinPipe::create().unwrap();
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            theirs.read_to_end(&mut read).map(|_| read)
        });
        let sent: Vec<u8> = (0..MUCH).map(|at| u8::try_from(at % 251).unwrap()).collect();
        ours.write_all(&sent).await.unwrap();
        drop(ours);
        assert!(reader.join().unwrap().unwrap() == sent);
    }

    #[tokio::test]
    async fn write_fails_when_reader_is_gone() {
        let (theirs, mut ours) = StdinPipe::create().unwrap();
        drop(theirs);
        assert_eq!(ours.write_all(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
