//! The lists of built-in tools: for models, for programs and for extensions.

use std::path::PathBuf;
use std::sync::Arc;

use haft_core::services::{AllowedPaths, ExtensionToolSource, ServiceReach};
use haft_core::tool::Tool;

use crate::bash::BashTool;
use crate::builtin::{BuiltIn as _, BuiltInTool, ResultAudience, SharedToolState};
use crate::edit::EditTool;
use crate::environment::{Environment, FileAccessRules, HostEnvironment};
use crate::find::FindTool;
use crate::grep::GrepTool;
use crate::ls::LsTool;
use crate::read::ReadTool;
use crate::write::WriteTool;

/// The names of the built-in tools, in the order they are shown to the model.
pub const NAMES: [&str; 7] = [
    ReadTool::NAME,
    BashTool::NAME,
    EditTool::NAME,
    WriteTool::NAME,
    GrepTool::NAME,
    FindTool::NAME,
    LsTool::NAME,
];

/// The built-in tools in one environment, in the order of [`NAMES`]. They know together which files were read, so each
/// session should have its own.
pub fn builtin_tools(environment: Arc<dyn Environment>) -> Vec<Arc<dyn Tool>> {
    let ground = SharedToolState::new(environment, ResultAudience::Model);
    vec![
        BuiltInTool::<ReadTool>::tool(&ground),
        BuiltInTool::<BashTool>::tool(&ground),
        BuiltInTool::<EditTool>::tool(&ground),
        BuiltInTool::<WriteTool>::tool(&ground),
        BuiltInTool::<GrepTool>::tool(&ground),
        BuiltInTool::<FindTool>::tool(&ground),
        BuiltInTool::<LsTool>::tool(&ground),
    ]
}

/// Those of the built-in tools that programs use: read, bash, edit and write, with the same names, arguments and limits.
/// Their results keep what is in a file or what a command printed apart from remarks about it, which come in texts of
/// their own, and have details. They know together which files were read, so each program should have its own.
pub fn service_tools(environment: Arc<dyn Environment>) -> Vec<Arc<dyn Tool>> {
    let ground = SharedToolState::new(environment, ResultAudience::Program);
    vec![
        BuiltInTool::<ReadTool>::tool(&ground),
        BuiltInTool::<BashTool>::tool(&ground),
        BuiltInTool::<EditTool>::tool(&ground),
        BuiltInTool::<WriteTool>::tool(&ground),
    ]
}

/// The services that a program that embeds haft gives its host, so that extensions can read, write, edit and run things
/// through it: [`service_tools`] on the machine that the model's own tools work on, and in their queue of changes.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::services::ExtensionToolSource;
/// use haft_tools::{HostEnvironment, ServiceTools, builtin_tools};
///
/// # let (workspace, own) = ("workspace", "own");
/// let environment = HostEnvironment::new(workspace);
/// let for_extensions = ServiceTools::new(environment.clone()).keep_out_of(own);
/// let for_the_model = builtin_tools(Arc::new(environment));
/// # fn given(_: Arc<dyn ExtensionToolSource>) {}
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

impl ExtensionToolSource for ServiceTools {
    fn tools(&self, reach: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String> {
        let (read, write) = reach.within.clone().map(|AllowedPaths { read, write }| (read, write)).unzip();
        let own = reach.data.iter().cloned().collect();
        let reach = FileAccessRules { read, write, own, never: self.never.clone() };
        let environment =
            self.environment.clone().with_access_rules(&reach).map_err(|error| error.to_string())?;
        Ok(service_tools(Arc::new(environment)))
    }
}
