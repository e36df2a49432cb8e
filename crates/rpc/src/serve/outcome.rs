//! The execution of a command: an immediate result, or a task.

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
    /// A task with a possibly long reply.
    Bulky(BoxFuture<'static, ReplyResult>),
}

impl CommandExecution {
    pub(super) fn from_future(work: impl Future<Output = ReplyResult> + Send + 'static) -> Self {
        Self::Later(work.boxed())
    }

    /// Stops work without a waiting client when the process ends, because it may wait for a slow
    /// peer.
    pub(super) fn until_cancelled(
        ending: CancellationToken,
        work: impl Future<Output = ReplyResult> + Send + 'static,
    ) -> Self {
        let ended = || CommandFailure::new(ErrorCode::Shutdown, "the process is ending");
        Self::from_future(
            async move { ending.run_until_cancelled(work).await.unwrap_or_else(|| Err(ended())) },
        )
    }

    /// Runs blocking work that reads the disk and may have a long reply.
    pub(super) fn from_blocking(work: impl FnOnce() -> ReplyResult + Send + 'static) -> Self {
        Self::Bulky(run_blocking(work).boxed())
    }
}

/// Runs work that reads the disk on a thread for blocking work.
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

/// Runs work and converts a panic into an error reply.
pub(super) async fn catch_panics<T>(
    work: impl Future<Output = Result<T, CommandFailure>>,
) -> Result<T, CommandFailure> {
    let panicked =
        |_| Err(CommandFailure::other("internal error; see the log for details. Other work continues"));
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked)
}
