//! The result of discovery as a host runs and reports it.

use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use super::{Discovery, DiscoveryError, Skipped};
use crate::spec::ExtensionSpec;

/// The extensions to run, and the faults to report.
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

impl From<Discovery> for Found {
    /// What the host runs and reports. Of what was skipped it reports what the user has and has to look at; the rest is for
    /// the front end to tell.
    fn from(found: Discovery) -> Self {
        let fault = |error: DiscoveryError| ExtensionFault {
            code: error.code().into(),
            message: format!("{error}: {}", error.kind),
            extension: ExtensionName::new(error.name),
        };
        let skipped: Vec<_> = found.skipped.iter().filter_map(Skipped::fault).collect();
        let blocked = found.errors.iter().find_map(DiscoveryError::blocks);
        let faults = found.errors.into_iter().map(fault).chain(found.warnings).chain(skipped).collect();
        Self { specs: found.specs, faults, blocked }
    }
}
