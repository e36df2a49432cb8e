//! The look at a project before one of its extensions is started late in a run: is it still what the user trusts?

use std::fmt;
use std::sync::Arc;

/// Looks whether what of a project is run is still what the user trusts. It may block; the error says what to do, for people.
#[derive(Clone)]
pub struct ProjectCheck(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl ProjectCheck {
    /// By this.
    pub fn new(check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Looks now.
    ///
    /// # Errors
    /// The reason why nothing of the project may be started, and what to do, for people.
    pub fn check(&self) -> Result<(), String> {
        (self.0)()
    }
}

impl fmt::Debug for ProjectCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProjectCheck")
    }
}
