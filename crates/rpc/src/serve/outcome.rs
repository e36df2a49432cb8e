//! The outcome of a command: at once, or from a task.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use haft_protocol::rpc::{CommandFailure, ErrorCode, NoData, ReplyPayload};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

pub(super) type ReplyResult = Result<ReplyPayload, CommandFailure>;

pub(super) enum CommandExecution {
    Now(ReplyResult),
    Later(BoxFuture<'static, ReplyResult>),
    /// The same, where the reply may be long.
    Bulky(BoxFuture<'static, ReplyResult>),
}

impl CommandExecution {
    pub(super) fn from_future(work: impl Future<Output = ReplyResult> + Send + 'static) -> Self {
        Self::Later(work.boxed())
    }

    /// Ends work that no client waits for once everything ends: it may ask somebody who is slow to answer.
    pub(super) fn until_cancelled(
        ending: CancellationToken,
        work: impl Future<Output = ReplyResult> + Send + 'static,
    ) -> Self {
        let ended = || CommandFailure::new(ErrorCode::Shutdown, "the process ends");
        Self::from_future(
            async move { ending.run_until_cancelled(work).await.unwrap_or_else(|| Err(ended())) },
        )
    }

    /// Runs work that blocks the thread, because it reads the disk, and may have a long reply.
    pub(super) fn from_blocking(work: impl FnOnce() -> ReplyResult + Send + 'static) -> Self {
        Self::Bulky(run_blocking(work).boxed())
    }
}

/// Does what reads the disk where it holds up nothing else.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CommandFailure> + Send + 'static,
) -> Result<T, CommandFailure> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(CommandFailure::other(error)))
}

pub(super) fn reply_data(data: impl Serialize + Send + Sync + 'static) -> ReplyResult {
    Ok(ReplyPayload::from_value(data))
}

pub(super) fn empty_reply() -> ReplyResult {
    reply_data(NoData {})
}

/// Does it; when something panics in there, that is the answer.
pub(super) async fn catch_panics<T>(
    work: impl Future<Output = Result<T, CommandFailure>>,
) -> Result<T, CommandFailure> {
    let panicked = |_| Err(CommandFailure::other("haft failed here; the log says where. All else goes on"));
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked)
}
