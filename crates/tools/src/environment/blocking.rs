//! Moves long computations away from the agent's thread.

use super::EnvironmentError;

/// The number of bytes that are processed on the agent's thread: that takes less than a millisecond, about as long as
/// asking another thread.
const FEW: usize = 256 * 1024;

/// Runs a computation on that many bytes: directly if they are few, otherwise on another thread.
pub(crate) async fn run_blocking_if_large<T: Send + 'static>(
    len: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EnvironmentError> {
    if len <= FEW { Ok(work()) } else { run_blocking(|| Ok(work())).await }
}

pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EnvironmentError> + Send + 'static,
) -> Result<T, EnvironmentError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(EnvironmentError::Cancelled),
        },
    }
}
