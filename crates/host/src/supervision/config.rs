//! The configuration of a host by the embedding program.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_core::TextFilter;
use haft_core::model::ModelId;
use haft_launch::Launcher;
use haft_launch::sandbox::ConfinementLevel;
use haft_packages::file_name::safe_file_name;
use haft_packages::{
    ExtensionEnv, ExtensionSpec, LaunchPlan, PathError, ProjectCheck, SandboxGrant, ToolPins,
};
use haft_protocol::ext::{ExtensionConfig, HostMode, Limits};
use haft_protocol::ids::ExtensionName;

use crate::timeouts::Timeouts;

/// The configuration of a host by the embedding program.
///
/// ```no_run
/// use std::io;
/// use std::path::Path;
///
/// use haft_core::model::ModelId;
/// use haft_host::HostConfig;
/// use haft_host::launch::Launcher;
///
/// fn config(model: ModelId, home: &Path, project: &Path) -> io::Result<HostConfig> {
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
#[non_exhaustive]
pub struct HostConfig {
    /// The program's version, for `hello_ack`.
    pub version: String,
    /// The active model, for `hello_ack`.
    pub model: ModelId,
    /// The way in which the program runs, for `hello_ack`; `None` for an embedding program.
    pub mode: Option<HostMode>,
    /// The working directory of the agent. A relative path is made absolute.
    pub cwd: PathBuf,
    /// The directory of the extensions' log files; `None` writes none.
    pub logs: Option<PathBuf>,
    /// The parent of the extensions' data directories; `None` uses the directories of their code.
    pub data: Option<PathBuf>,
    /// The directory of the embedding program's own files. A sandbox lets an extension write only to its own
    /// data in it.
    pub home: Option<PathBuf>,
    /// Files with keys, which no sandbox lets an extension read.
    pub secrets: Vec<PathBuf>,
    /// Called directly before an extension of [`ExtensionOrigin::Project`](crate::ExtensionOrigin::Project) is started, also
    /// late in a run. `None` skips the check.
    pub project_check: Option<ProjectCheck>,
    /// The directory of records about extensions that failed or were slow to start; `None` keeps no records.
    pub state: Option<PathBuf>,
    /// The directory for the full text of long results, which the model can read; created with the first
    /// file. `None` uses a temporary directory that is removed with the host.
    pub results: Option<PathBuf>,
    /// Removes secrets from these texts before they are saved.
    pub result_filter: Option<TextFilter>,
    /// The maximum number of extensions that start at the same time. Default: the number of processors.
    pub start_at_once: NonZeroUsize,
    /// Tool names that extensions cannot have: those of the built-in tools.
    pub reserved_tools: Vec<String>,
    /// Command names that extensions cannot have.
    pub reserved_commands: Vec<String>,
    /// The variables of this program's environment that extensions receive.
    pub env: ExtensionEnv,
    /// The launcher, which starts and guards extensions: a program that calls [`haft_launch::launcher_main`].
    /// Without a launcher, extensions run directly, with all rights of this program. Processes that leave the
    /// process group then outlive their extension. A process that ignores the end of its input outlives a
    /// killed host.
    pub launcher: Option<Launcher>,
    /// The settings of single extensions, for `hello_ack.config`.
    pub extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// The settings that replace them for extensions of [`ExtensionOrigin::Project`](crate::ExtensionOrigin::Project).
    pub project_extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// The sandboxes of single extensions, which override grants; `None` as a value runs the extension with this program's
    /// rights. Other extensions run in the sandbox of [`ExtensionSpec::level`]. A sandbox needs `launcher` and `data`.
    /// Without them, or if the system does not support the level, the extension is not started.
    pub sandbox: BTreeMap<ExtensionName, Option<SandboxGrant>>,
    /// The store of the pinned tool texts of approved extensions; without a store the texts may change.
    pub tool_pins: Option<Arc<dyn ToolPins>>,
    /// Extensions whose unanswered `tool_call` intercepts let the call pass (`on_timeout = "allow"`).
    pub on_timeout_allow: Vec<ExtensionName>,
    /// The user's deadlines of `hello` for single extensions, instead of those of their manifests.
    pub hello_timeouts: BTreeMap<ExtensionName, Duration>,
    /// The deadlines of the host.
    pub timeouts: Timeouts,
    /// The limits of what extensions may send, register and print. Its times are ignored in favor of
    /// `timeouts`.
    pub limits: Limits,
}

impl HostConfig {
    /// Returns a configuration without logs, reserved names or environment.
    pub fn new(version: impl Into<String>, model: ModelId, cwd: impl Into<PathBuf>) -> Self {
        Self {
            version: version.into(),
            model,
            mode: None,
            cwd: cwd.into(),
            logs: None,
            data: None,
            home: None,
            secrets: Vec::new(),
            project_check: None,
            state: None,
            results: None,
            result_filter: None,
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
            hello_timeouts: BTreeMap::new(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
        }
    }

    /// Returns the data directory of an extension, which may not exist; `None` without a separate data
    /// directory.
    pub(crate) fn data_dir(&self, name: &ExtensionName) -> Option<PathBuf> {
        Some(self.data.as_ref()?.join(safe_file_name(name.as_str())))
    }

    /// Returns the sandbox level of an extension's process, if it has a sandbox.
    pub(crate) fn level_of(&self, spec: &ExtensionSpec) -> Option<ConfinementLevel> {
        let level = match self.sandbox.get(&spec.name) {
            Some(setting) => setting.as_ref().map(|grant| grant.level),
            None => spec.level,
        };
        level.filter(|_| matches!(spec.launch, LaunchPlan::Process { .. }))
    }

    /// Returns the sandbox of that level. The user's settings never let an extension with permissions start
    /// more programs than the permissions name, because the settings have no key for that. Fails when a
    /// granted path begins with `~` and there is no home.
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

/// Returns the number of processors. Computed once, because the system call is slow.
fn processor_count() -> NonZeroUsize {
    static PROCESSORS: OnceLock<NonZeroUsize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}
