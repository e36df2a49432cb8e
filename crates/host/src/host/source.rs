//! Where the extensions to run come from: asked at the start and at every reload.

use std::sync::Arc;

pub use haft_packages::discovery::Found;

/// Finds the extensions to run. Discovery, flags such as `--no-ext` and trust are its business.
pub type SpecSource = Arc<dyn Fn() -> Found + Send + Sync>;
