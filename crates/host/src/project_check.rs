//! Whether a project is still what the user trusts, when an extension of it is started late in a run.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Looks whether what of a project is run is still what the user trusts. It may block; the error says what to do, for people.
#[derive(Clone)]
pub struct ProjectCheck(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl ProjectCheck {
    /// By this.
    pub fn new(check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }
}

impl fmt::Debug for ProjectCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProjectCheck")
    }
}

/// What was found last, and when that look began. Extensions that start together share one.
#[derive(Debug, Default)]
pub(crate) struct Looked(Mutex<Option<(Instant, Result<(), String>)>>);

impl Looked {
    /// What a look finds that begins now or later.
    pub(crate) async fn hold_now(&self, check: &ProjectCheck) -> Result<(), String> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some((began, found)) = &*last
            && *began >= asked
        {
            return found.clone();
        }
        let (began, look) = (Instant::now(), Arc::clone(&check.0));
        let found = spawn_blocking(move || look()).await.unwrap_or_else(|error| Err(error.to_string()));
        *last = Some((began, found.clone()));
        found
    }
}
