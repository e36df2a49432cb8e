//! Work that would hold up the agent's thread, on a thread where it may take its time.

use super::EnvironmentError;

/// So many bytes are worked on where they are: that takes less than a millisecond, and not much more than asking another
/// thread.
const FEW: usize = 256 * 1024;

/// Works on that many bytes: few at once, many on another thread.
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
