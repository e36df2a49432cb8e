//! The check of a project before a late start of one of its extensions: the user must still trust its present files.

use std::fmt;
use std::sync::Arc;

/// A check that the user still trusts the present files of a project. May block. The error says what to do, for the
/// user.
#[derive(Clone)]
pub struct ProjectCheck(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl ProjectCheck {
    /// Creates a check from a function.
    pub fn new(check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Runs the check.
    ///
    /// # Errors
    /// The reason why no extension of the project may start, and what to do, for the user.
    pub fn check(&self) -> Result<(), String> {
        (self.0)()
    }
}

impl fmt::Debug for ProjectCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProjectCheck")
    }
}
