//! Broken streams.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use haft_core::hooks::CancellationToken;
use haft_rpc::{EndReason, ServeError, ServeOptions, serve};
use tokio::io::AsyncWrite;

use crate::program::Program;

/// An output that accepts no data.
struct Torn(io::ErrorKind);

impl AsyncWrite for Torn {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(self.0.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn broken_output_is_an_error_but_closed_output_is_not() {
    let said = |kind| async move {
        let line = &b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"go\"}\n"[..];
        let program = Arc::new(Program::new([]));
        serve(&CancellationToken::new(), program, line, Torn(kind), ServeOptions::new("1.0.0")).await
    };
    assert_eq!(said(io::ErrorKind::BrokenPipe).await.unwrap(), EndReason::Gone);
    let error = said(io::ErrorKind::StorageFull).await.unwrap_err();
    assert!(matches!(error, ServeError::Output(_)), "{error}");
}
