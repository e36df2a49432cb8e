//! Where the extensions to run come from: asked at the start and at every reload.

use std::sync::Arc;

use haft_protocol::event::ExtensionFault;

use crate::spec::ExtensionSpec;

/// Finds the extensions to run. Discovery, flags such as `--no-ext` and trust are its business.
pub type SpecSource = Arc<dyn Fn() -> Found + Send + Sync>;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The extensions to run, in order of precedence.
    pub specs: Vec<ExtensionSpec>,
    /// What could not be read; reported by the host.
    pub faults: Vec<ExtensionFault>,
    /// Why no tool may run, if so: nobody can tell which extensions have to be in place, and one of them may be a guard.
    /// Fit to follow "because". The cause is among the faults.
    pub blocked: Option<String>,
}

impl From<Vec<ExtensionSpec>> for Found {
    fn from(specs: Vec<ExtensionSpec>) -> Self {
        Self { specs, ..Self::default() }
    }
}
