//! Work that would hold up the agent's thread, on a thread where it may take its time.

use super::EnvironmentError;

/// Does blocking work on a thread where it may block.
pub(crate) async fn off_thread<T: Send + 'static>(
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
