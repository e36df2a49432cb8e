//! `ServiceTools`: the tools that extensions have run for them, each within its own reach.

use std::path::PathBuf;
use std::sync::Arc;

use haft_core::services::{ServiceReach, Services, Within};
use haft_core::tool::Tool;

use crate::environment::{HostEnvironment, Reach};
use crate::list::service_tools;

/// What a program that embeds haft gives its host, so that extensions can read, write, edit and run things through it:
/// [`service_tools`] on the machine that the model's own tools work on, and in their queue of changes.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::services::Services;
/// use haft_tools::{HostEnvironment, ServiceTools, builtin_tools};
///
/// # let (workspace, own) = ("workspace", "own");
/// let environment = HostEnvironment::new(workspace);
/// let for_extensions = ServiceTools::new(environment.clone()).keep_out_of(own);
/// let for_the_model = builtin_tools(Arc::new(environment));
/// # fn given(_: Arc<dyn Services>) {}
/// // For `haft_host::HostBuilder::services`, before `Host::serve` says under whose hooks.
/// given(Arc::new(for_extensions));
/// # assert_eq!(for_the_model.len(), 7);
/// ```
#[derive(Debug, Clone)]
pub struct ServiceTools {
    environment: HostEnvironment,
    never: Vec<PathBuf>,
}

impl ServiceTools {
    /// On this machine as the environment sees it; whoever has the model's tools on a clone of it has one queue of
    /// changes for all.
    pub fn new(environment: HostEnvironment) -> Self {
        Self { environment, never: Vec::new() }
    }

    /// Keeps extensions out of a directory, whatever they were granted: the one with the program's own files. In it each
    /// reaches its data, and reads what its own commands printed.
    #[must_use]
    pub fn keep_out_of(mut self, dir: impl Into<PathBuf>) -> Self {
        self.never.push(dir.into());
        self
    }
}

impl Services for ServiceTools {
    fn tools(&self, reach: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String> {
        let (read, write) = reach.within.clone().map(|Within { read, write }| (read, write)).unzip();
        let own = reach.data.iter().cloned().collect();
        let reach = Reach { read, write, own, never: self.never.clone() };
        let environment = self.environment.clone().with_reach(&reach).map_err(|error| error.to_string())?;
        Ok(service_tools(Arc::new(environment)))
    }
}
