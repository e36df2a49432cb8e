//! Adapts a client in the same process to lines, so that both connections can be compared.

use std::sync::Arc;

use futures::future::{self, Either};
use haft_core::hooks::CancellationToken;
use haft_protocol::rpc::{BOUNDS, CommandFailure, RpcRequest, ServerLine, read_request};
use haft_rpc::{EndReason, ServeError, ServeOptions, serve_local};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc::{self, Receiver, UnboundedSender};

use crate::program::Program;

/// Serves a client with lines through a client in the same process.
pub(crate) async fn serve_lines(
    cancel: &CancellationToken,
    program: Program,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    options: ServeOptions,
) -> Result<EndReason, ServeError<CommandFailure>> {
    let (says, requests) = mpsc::unbounded_channel();
    let (lines, heard) = mpsc::channel(1);
    let served = serve_local(cancel, Arc::new(program), requests, lines, options);
    let told = Box::pin(future::join(served, tell(heard, output)));
    match future::select(told, Box::pin(say(input, says))).await {
        Either::Left(((end, ()), _)) => end,
        Either::Right(((), told)) => told.await.0,
    }
}

async fn say(input: impl AsyncRead + Unpin, says: UnboundedSender<RpcRequest>) {
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        // The server may be gone.
        drop(says.send(read_request(line.as_bytes(), BOUNDS).unwrap()));
    }
}

async fn tell(mut heard: Receiver<ServerLine>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = heard.recv().await {
        if output.write_all(line.encode().unwrap().as_bytes()).await.is_err() {
            return;
        }
    }
}
