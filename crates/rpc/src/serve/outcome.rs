//! The outcome of a command: at once, or from a task.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use haft_protocol::rpc::{ErrorCode, Failure, NoData, Payload};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

pub(super) type Outcome = Result<Payload, Failure>;

pub(super) enum Carried {
    Now(Outcome),
    Later(BoxFuture<'static, Outcome>),
    /// The same, where the reply may be long.
    Bulky(BoxFuture<'static, Outcome>),
}

impl Carried {
    pub(super) fn later(work: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self::Later(work.boxed())
    }

    /// Ends work that no client waits for once everything ends: it may ask somebody who is slow to answer.
    pub(super) fn before(
        ending: CancellationToken,
        work: impl Future<Output = Outcome> + Send + 'static,
    ) -> Self {
        let ended = || Failure::new(ErrorCode::Shutdown, "the process ends");
        Self::later(async move { ending.run_until_cancelled(work).await.unwrap_or_else(|| Err(ended())) })
    }

    /// Runs work that blocks the thread, because it reads the disk, and may have a long reply.
    pub(super) fn blocking(work: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self::Bulky(off_thread(work).boxed())
    }
}

/// Does what reads the disk where it holds up nothing else.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Failure::other(error)))
}

pub(super) fn data(data: impl Serialize + Send + Sync + 'static) -> Outcome {
    Ok(Payload::of(data))
}

pub(super) fn nothing() -> Outcome {
    data(NoData {})
}

/// Does it; when something panics in there, that is the answer.
pub(super) async fn answered<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let panicked = |_| Err(Failure::other("haft failed here; the log says where. All else goes on"));
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked)
}
