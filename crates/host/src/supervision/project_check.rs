//! The check of the project before a start, shared by extensions that start together.

use haft_packages::ProjectCheck;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct ProjectCheckCache(Mutex<Option<(Instant, Result<(), String>)>>);

impl ProjectCheckCache {
    /// Returns the result of a check that begins now or later.
    pub(crate) async fn check_now(&self, check: &ProjectCheck) -> Result<(), String> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some((began, found)) = &*last
            && *began >= asked
        {
            return found.clone();
        }
        let (began, check) = (Instant::now(), check.clone());
        let found =
            spawn_blocking(move || check.check()).await.unwrap_or_else(|error| Err(error.to_string()));
        *last = Some((began, found.clone()));
        found
    }
}
