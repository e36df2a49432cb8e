//! The configuration of a host by the program around it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use haft_core::model::ModelInfo;
use haft_launch::Launcher;
use haft_launch::sandbox::ConfinementLevel;
use haft_packages::file_name::safe_file_name;
use haft_packages::{
    ExtensionEnv, ExtensionSpec, LaunchPlan, PathError, ProjectCheck, SandboxGrant, ToolPins,
};
use haft_protocol::ext::{ExtensionConfig, Limits};
use haft_protocol::ids::ExtensionName;

use crate::timeouts::Timeouts;

/// The configuration of a host by the program around it.
///
/// ```no_run
/// use std::io;
/// use std::path::Path;
///
/// use haft_core::model::ModelInfo;
/// use haft_host::HostConfig;
/// use haft_host::launch::Launcher;
///
/// fn config(model: ModelInfo, home: &Path, project: &Path) -> io::Result<HostConfig> {
///     let mut config = HostConfig::new(env!("CARGO_PKG_VERSION"), model, project);
///     config.logs = Some(home.join("logs"));
///     config.data = Some(home.join("data"));
///     config.state = Some(home.join("state"));
///     config.home = Some(home.to_owned());
///     config.secrets = vec![home.join("auth.json")];
///     config.reserved_tools = vec!["stock".into()]; // the program's own tools keep their names
///     // The program calls `haft_host::launch::launcher_main` when it is started in this role.
///     config.launcher = Some(Launcher::this_program("__launcher")?);
///     Ok(config)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// The program's version, for `hello_ack`.
    pub version: String,
    /// The active model, for `hello_ack`.
    pub model: ModelInfo,
    /// The directory the agent works in. Made absolute if it is not.
    pub cwd: PathBuf,
    /// Where the log files of extensions go; `None` writes none.
    pub logs: Option<PathBuf>,
    /// Below it each extension has a directory of its own for its data; `None` gives it the one of its code.
    pub data: Option<PathBuf>,
    /// Where the program around keeps files of its own. No sandbox lets an extension change anything in it but its data.
    pub home: Option<PathBuf>,
    /// Files that no sandbox lets an extension read: those with keys.
    pub secrets: Vec<PathBuf>,
    /// Asked right before an extension of [`Origin::Project`](crate::Origin::Project) is started, also late in a run; none
    /// where nobody knows what was looked at.
    pub project_check: Option<ProjectCheck>,
    /// Where the host remembers which extensions failed, or were silent, when they were started; `None` remembers nothing.
    pub state: Option<PathBuf>,
    /// Where the whole of a result goes that is too long for a model, which may read it from there; the directory is made
    /// with the first one. `None` takes a temporary one, which goes with the host.
    pub results: Option<PathBuf>,
    /// The number of extensions that may be starting at once. As many as there are processors, unless set.
    pub start_at_once: NonZeroUsize,
    /// Tool names that extensions cannot have: those of the built-in tools.
    pub reserved_tools: Vec<String>,
    /// Command names that extensions cannot have.
    pub reserved_commands: Vec<String>,
    /// The variables of this program's environment for extensions.
    pub env: ExtensionEnv,
    /// The launcher, which starts and guards extensions: a program that calls [`haft_launch::launcher_main`]. Without
    /// one they are started directly, with all of this program's rights; what leaves its process group then outlives
    /// its extension, and whatever ignores the end of its input outlives a host that is killed.
    pub launcher: Option<Launcher>,
    /// The settings of single extensions, as `hello_ack.config`.
    pub extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// The settings of those of [`Origin::Project`](crate::Origin::Project) in its place, where there are some.
    pub project_extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// The sandboxes of single extensions, whatever they were granted; none to run one with this program's rights. What is
    /// not named here runs in that of [`ExtensionSpec::level`]. A sandbox needs `launcher` and `data`: without them, and
    /// where the system does not have the level, the extension is not started.
    pub sandbox: BTreeMap<ExtensionName, Option<SandboxGrant>>,
    /// Where the texts of tools are kept that extensions registered which the user approved; without it they may change.
    pub tool_pins: Option<Arc<dyn ToolPins>>,
    /// Extensions whose unanswered `tool_call` intercepts the user lets pass (`on_timeout = "allow"`).
    pub on_timeout_allow: Vec<ExtensionName>,
    /// The deadlines of the host.
    pub timeouts: Timeouts,
    /// The limits of what extensions may send, register and print. Its times are not looked at: those of `timeouts`
    /// count.
    pub limits: Limits,
}

impl HostConfig {
    /// A config without logs, reserved names or an environment of its own.
    pub fn new(version: impl Into<String>, model: ModelInfo, cwd: impl Into<PathBuf>) -> Self {
        Self {
            version: version.into(),
            model,
            cwd: cwd.into(),
            logs: None,
            data: None,
            home: None,
            secrets: Vec::new(),
            project_check: None,
            state: None,
            results: None,
            start_at_once: processor_count(),
            reserved_tools: Vec::new(),
            reserved_commands: Vec::new(),
            env: ExtensionEnv::default(),
            launcher: None,
            extension_config: BTreeMap::new(),
            project_extension_config: BTreeMap::new(),
            sandbox: BTreeMap::new(),
            tool_pins: None,
            on_timeout_allow: Vec::new(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
        }
    }

    /// Where an extension keeps its data, whether it is there or not; none when data has no place of its own.
    pub(crate) fn data_dir(&self, name: &ExtensionName) -> Option<PathBuf> {
        Some(self.data.as_ref()?.join(safe_file_name(name.as_str())))
    }

    /// The level of the sandbox that the process of an extension runs in, if any.
    pub(crate) fn level_of(&self, spec: &ExtensionSpec) -> Option<ConfinementLevel> {
        let level = match self.sandbox.get(&spec.name) {
            Some(said) => said.as_ref().map(|grant| grant.level),
            None => spec.level,
        };
        level.filter(|_| matches!(spec.launch, LaunchPlan::Process { .. }))
    }

    /// The sandbox of that level. What the user says of an extension with permissions never has it start more programs
    /// than they name: the user has no word for that, so that whoever says something else has not agreed to more. Fails when
    /// a path that was granted begins with `~` and there is no home.
    pub(crate) fn sandbox_of(
        &self,
        spec: &ExtensionSpec,
        level: ConfinementLevel,
    ) -> Result<Cow<'_, SandboxGrant>, PathError> {
        match (self.sandbox.get(&spec.name), &spec.permissions) {
            (Some(Some(grant)), Some(granted)) if granted.exec < grant.programs => {
                Ok(Cow::Owned(SandboxGrant { programs: granted.exec, ..grant.clone() }))
            }
            (Some(Some(grant)), _) => Ok(Cow::Borrowed(grant)),
            (_, Some(granted)) => {
                granted.sandbox_grant(level, std::env::home_dir().as_deref()).map(Cow::Owned)
            }
            (_, None) => Ok(Cow::Owned(SandboxGrant::new(level))),
        }
    }

    pub(crate) fn env_of<'a>(&'a self, spec: &'a ExtensionSpec) -> impl Iterator<Item = &'a String> {
        let asked = spec.permissions.iter().flat_map(|granted| &granted.env);
        self.env.granted.get(&spec.name).into_iter().flatten().chain(asked)
    }

    /// Returns the settings of this extension for `hello_ack.config`.
    pub(crate) fn config_of(&self, spec: &ExtensionSpec) -> Option<&ExtensionConfig> {
        let projects = self.project_extension_config.get(&spec.name);
        let projects = projects.filter(|_| spec.is_from_project());
        projects.or_else(|| self.extension_config.get(&spec.name))
    }
}

/// Returns the number of processors. Asked once: the answer takes the system as long as it takes to read five files.
fn processor_count() -> NonZeroUsize {
    static PROCESSORS: OnceLock<NonZeroUsize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}
