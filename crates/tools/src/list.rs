//! The lists of built-in tools: for models, for programs and for extensions.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use haft_core::file_queue::FileQueue;
use haft_core::services::{AllowedPaths, ExtensionToolSource, FileLockError, ServiceReach};
use haft_core::tool::Tool;
use haft_protocol::ext::HostCallError;

use crate::bash::BashTool;
use crate::builtin::{BuiltIn as _, BuiltInTool, ResultAudience, SharedToolState};
use crate::edit::EditTool;
use crate::environment::{Environment, FileAccessRules, HostEnvironment};
use crate::find::FindTool;
use crate::grep::GrepTool;
use crate::job::JobTool;
use crate::ls::LsTool;
use crate::path::resolve_file;
use crate::read::ReadTool;
use crate::write::WriteTool;

/// The names of the built-in tools, in the order that the model sees.
pub const NAMES: [&str; 8] = [
    ReadTool::NAME,
    BashTool::NAME,
    JobTool::NAME,
    EditTool::NAME,
    WriteTool::NAME,
    GrepTool::NAME,
    FindTool::NAME,
    LsTool::NAME,
];

/// Returns the built-in tools in one environment, in the order of [`NAMES`]. They share the record of files that were
/// read, so each session needs its own tools.
pub fn builtin_tools(environment: Arc<dyn Environment>) -> Vec<Arc<dyn Tool>> {
    let ground = SharedToolState::new(environment, ResultAudience::Model);
    vec![
        BuiltInTool::<ReadTool>::tool(&ground),
        BuiltInTool::<BashTool>::tool(&ground),
        BuiltInTool::<JobTool>::tool(&ground),
        BuiltInTool::<EditTool>::tool(&ground),
        BuiltInTool::<WriteTool>::tool(&ground),
        BuiltInTool::<GrepTool>::tool(&ground),
        BuiltInTool::<FindTool>::tool(&ground),
        BuiltInTool::<LsTool>::tool(&ground),
    ]
}

/// Returns the built-in tools for programs: read, bash, edit and write, with the same names, arguments and limits.
/// Their results keep the content of a file or the output of a command in separate texts from remarks, and have
/// details. They share the record of files that were read, so each program needs its own tools.
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
/// # assert_eq!(for_the_model.len(), 8);
/// ```
#[derive(Debug, Clone)]
pub struct ServiceTools {
    environment: HostEnvironment,
    never: Vec<PathBuf>,
}

impl ServiceTools {
    /// Creates the services of this machine. Use a clone of the environment of the model's tools, so that all changes
    /// go through one queue.
    pub fn new(environment: HostEnvironment) -> Self {
        Self { environment, never: Vec::new() }
    }

    /// Keeps extensions out of a directory with the program's own files, whatever they were granted. Each extension
    /// still reaches its own data in there, and the output of its own commands.
    #[must_use]
    pub fn keep_out_of(mut self, dir: impl Into<PathBuf>) -> Self {
        self.never.push(dir.into());
        self
    }

    fn environment_within(&self, reach: &ServiceReach) -> io::Result<HostEnvironment> {
        let within = reach.within.clone();
        let network = within.as_ref().is_none_or(|within| within.network);
        let (read, write) = within.map(|AllowedPaths { read, write, .. }| (read, write)).unzip();
        let own = reach.data.iter().cloned().collect();
        let rules = FileAccessRules { read, write, own, never: self.never.clone(), network };
        self.environment.clone().with_access_rules(&rules)
    }
}

impl ExtensionToolSource for ServiceTools {
    fn tools(&self, reach: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String> {
        let environment = self.environment_within(reach).map_err(|error| error.to_string())?;
        let queue = environment.file_queue().for_owner(reach.lock_owner);
        Ok(service_tools(Arc::new(environment.with_queue(queue))))
    }

    fn file_to_lock(&self, reach: &ServiceReach, path: &str) -> Result<(FileQueue, PathBuf), FileLockError> {
        let refused = |code: HostCallError, text: String| FileLockError::new(code, text);
        let file = resolve_file(&self.environment, path)
            .map_err(|failure| refused(HostCallError::InvalidArgs, failure.to_string()))?;
        let environment = self
            .environment_within(reach)
            .map_err(|error| refused(HostCallError::Unavailable, error.to_string()))?;
        // The text names no other path, because it could show where links lead.
        let file = environment.resolve_writable(&file).map_err(|_| {
            let text = "the extension must not write this file through haft, and so must not lock it";
            refused(HostCallError::PermissionDenied, text.to_owned())
        })?;
        Ok((environment.file_queue().clone(), file))
    }
}
