//! Joining model, tools and extensions into an agent.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use haft_config::{CompactionSettings, Config, Granted, Home, OnTimeout, Owner, ProcessHook, Project};
use haft_core::compact::CompactSettings;
use haft_core::model::{Model, Thinking};
use haft_core::prompt::SystemPrompt;
use haft_core::session::Session;
use haft_core::tool::{Tool, ToolSet};
use haft_core::{Agent, AgentBuilder};
use haft_host::{ExtensionState, Host, HostConfig, run_in_background};
use haft_launch::Launcher;
use haft_packages::discovery::Search;
use haft_packages::install::LockedTools;
use haft_packages::install::lock::Approved;
use haft_packages::{ExtensionEnv, ProjectCheck, SandboxGrant, ToolPins, check_grant};
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::ExtensionConfig;
use haft_protocol::ids::ExtensionName;
use haft_tools::{HostEnvironment, ServiceTools, builtin_tools, skill_tool};
use tokio::sync::watch;

use crate::args::RunArgs;
use crate::exit::{Exit, OrExit as _};
use crate::extensions::{self, OnlyProjects};
use crate::hooks::Ground;
use crate::resources::Resources;
use crate::setup::Setup;
use crate::token::VARIABLES as TOKEN_VARIABLES;

use super::ends::Ends;
use super::model::{self, OtherModels};

/// Everything a run is made of, before anything is started.
pub(crate) struct Parts {
    /// What everything is kept in.
    pub(crate) session: Session,
    pub(crate) model: Arc<dyn Model>,
    /// Those that hooks may name; none where no hook runs.
    pub(crate) others: Option<OtherModels>,
    pub(crate) cwd: PathBuf,
    pub(crate) search: Search,
    /// The process hooks that run beside extensions.
    pub(crate) hooks: Vec<ProcessHook>,
    /// Whether extensions of the project are still what the user trusts.
    pub(crate) project_check: Option<ProjectCheck>,
    /// What programs that read events are told when the run begins.
    pub(crate) told: Option<AgentEvent>,
    /// Where haft keeps its files.
    pub(crate) home: Home,
    pub(crate) system: SystemPrompt,
    /// Skills and templates.
    pub(crate) resources: Resources,
    pub(crate) thinking: Thinking,
    pub(crate) max_steps: Option<u32>,
    /// When the conversation is summed up, and how much of it is kept.
    pub(crate) compaction: CompactSettings,
    pub(crate) tools: ToolChoice,
    pub(crate) on_timeout_allow: Vec<ExtensionName>,
    /// What single extensions are handed.
    pub(crate) extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// The same where the extension is the project's.
    pub(crate) project_extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// What the project sets for extensions that may not be its own.
    pub(crate) only_projects: OnlyProjects,
    /// Variables that single extensions get beside those that all get.
    pub(crate) granted: BTreeMap<ExtensionName, Vec<String>>,
    /// The names that the user grants something.
    pub(crate) grants: Vec<String>,
    /// What confines single extensions.
    pub(crate) sandbox: BTreeMap<ExtensionName, Option<SandboxGrant>>,
}

/// Which tools the model is offered.
#[derive(Debug, Clone)]
pub(crate) enum ToolChoice {
    /// Those that the session names; all of them, if it names none.
    All,
    /// Those of these names, extensions' tools included.
    Only(Vec<String>),
    /// None.
    None,
}

impl Parts {
    /// The parts that arguments, files and environment name.
    pub(crate) fn new(
        args: &RunArgs,
        setup: Setup,
        model: Arc<dyn Model>,
        session: Session,
    ) -> anyhow::Result<Self> {
        let system = setup.resources.system_prompt(&args.agent, facts(&setup.cwd))?;
        let thinking = setup.settings().thinking.value;
        let tools = match (&args.agent.tools, args.agent.no_tools) {
            (_, true) => ToolChoice::None,
            (Some(names), false) => ToolChoice::Only(names.clone()),
            (None, false) => ToolChoice::All,
        };
        let first = model::wish(args, &setup);
        let config = &setup.config;
        let allows =
            |granted: &Granted| granted.on_timeout.as_ref().is_some_and(|set| set.value == OnTimeout::Allow);
        let loosened = config.grant.iter().filter(|(_, granted)| allows(granted));
        Ok(Self {
            project_check: setup.project_check(),
            told: if args.json { setup.trust_required() } else { None },
            session,
            others: Some(OtherModels::new(first, &config.settings, setup.models, setup.auth, &model.info())),
            model,
            search: setup.search,
            hooks: setup.hooks,
            home: setup.home,
            system,
            thinking,
            max_steps: config.settings.max_steps.as_ref().map(|sourced| sourced.value.get()),
            compaction: compaction(&config.compaction),
            tools,
            on_timeout_allow: loosened.map(|(name, _)| ExtensionName::new(name.as_str())).collect(),
            extension_config: extension_config(config, Owner::User)?,
            project_extension_config: extension_config(config, Owner::Project)?,
            only_projects: OnlyProjects::of(config),
            grants: config.grant.keys().cloned().collect(),
            granted: granted(config).or_exit(Exit::Configuration)?,
            sandbox: crate::sandbox::granted(config).or_exit(Exit::Configuration)?,
            cwd: setup.cwd,
            resources: setup.resources,
        })
    }

    /// Where process hooks are started.
    fn ground(&self) -> Ground {
        Ground {
            home: self.home.clone(),
            cwd: self.cwd.clone(),
            is_trusted: self.search.project.as_ref().is_some_and(Project::is_trusted),
        }
    }
}

fn compaction(settings: &CompactionSettings) -> CompactSettings {
    CompactSettings {
        auto: settings.auto.value,
        reserve: settings.reserve.as_ref().map(|sourced| sourced.value.get()),
        keep: settings.keep.as_ref().map(|sourced| sourced.value.get()),
    }
}

/// What is set for extensions of this owner, by their names.
fn extension_config(
    config: &Config,
    owner: Owner,
) -> anyhow::Result<BTreeMap<ExtensionName, ExtensionConfig>> {
    let mut all = BTreeMap::new();
    for name in config.extension.keys() {
        let json = RawJson::from_value(&config.extension_json(name, owner))?;
        if let Some(config) = ExtensionConfig::new(json) {
            all.insert(ExtensionName::new(name.as_str()), config);
        }
    }
    Ok(all)
}

/// The variables that the user lets extensions have.
fn granted(config: &Config) -> anyhow::Result<BTreeMap<ExtensionName, Vec<String>>> {
    let mut granted = BTreeMap::new();
    for (name, grant) in &config.grant {
        let Some(env) = &grant.env else { continue };
        for variable in &env.value {
            check_grant(variable).with_context(|| format!("{}: grant.{name}.env", env.origin))?;
        }
        granted.insert(ExtensionName::new(name.as_str()), env.value.clone());
    }
    Ok(granted)
}

/// What the model should know of the place it works in.
pub(crate) fn facts(cwd: &std::path::Path) -> Vec<String> {
    vec![
        format!("Working directory: {}", cwd.display()),
        format!("Operating system: {}", std::env::consts::OS),
    ]
}

/// An agent with its extensions running.
pub(crate) struct Joined {
    pub(crate) agent: Agent,
    pub(crate) host: Host,
    /// Moves when extensions offer other tools.
    pub(crate) changes: watch::Receiver<u64>,
    /// Skills and templates.
    pub(crate) resources: Resources,
    /// Those that are offered before the extensions'.
    pub(crate) builtin: Vec<Arc<dyn Tool>>,
    tools: ToolChoice,
}

/// Keeps the tools of approved extensions in the lock file.
fn tool_pins(approved: Approved) -> Arc<dyn ToolPins> {
    Arc::new(LockedTools::new(approved, run_in_background))
}

/// Starts the extensions, waits until they are ready, and makes the agent.
pub(crate) async fn join(parts: Parts, ends: Ends) -> anyhow::Result<Joined> {
    let ground = parts.ground();
    let environment = HostEnvironment::new(&parts.cwd)
        .with_scratch(parts.home.results_dir())
        .with_state(parts.home.state_dir().join("in-place"))
        .without_variables(TOKEN_VARIABLES);
    let services = ServiceTools::new(environment.clone()).keep_out_of(parts.home.root());
    let mut builtin = builtin_tools(Arc::new(environment));
    builtin.extend(parts.resources.skill_source().map(skill_tool));
    let Ends { events, frontend, joined } = ends;
    parts.told.into_iter().for_each(|event| events(event));
    let mut config = HostConfig::new(env!("CARGO_PKG_VERSION"), parts.model.info(), &parts.cwd);
    config.logs = Some(parts.home.logs_dir());
    config.data = Some(parts.home.data_dir());
    config.project_check = parts.project_check;
    config.home = Some(parts.home.root().to_owned());
    config.secrets = vec![parts.home.auth_file()];
    config.state = Some(parts.home.state_dir());
    config.results = Some(parts.home.results_dir());
    config.reserved_tools = builtin.iter().map(|tool| tool.spec().name.clone()).collect();
    config.env = ExtensionEnv {
        granted: parts.granted,
        set: Vec::new(),
        withheld: TOKEN_VARIABLES.map(str::to_owned).into(),
    };
    config.launcher = Some(launcher()?);
    config.sandbox = parts.sandbox;
    config.tool_pins = parts.search.approved.clone().map(tool_pins);
    config.on_timeout_allow = parts.on_timeout_allow;
    config.extension_config = parts.extension_config;
    config.project_extension_config = parts.project_extension_config;
    let source = extensions::source(parts.search, parts.hooks, ground, parts.only_projects, parts.grants);
    let host = Host::builder(config)
        .frontend(frontend)
        .events(events)
        .services(Arc::new(services))
        .source(move || source())
        .start()
        .await;
    let mut builder = Agent::builder(parts.model)
        .session(parts.session)
        .hook_source(host.hook_source())
        .system_prompt(parts.system)
        .thinking(parts.thinking)
        .compaction(parts.compaction);
    builder = parts.others.into_iter().fold(builder, AgentBuilder::models);
    if let Some(limit) = parts.max_steps {
        builder = builder.max_steps(limit);
    }
    // Watched from before the tools are taken, so that no change is missed.
    let changes = host.changes();
    let (tools, resources) = (parts.tools, parts.resources);
    let agent = joined(builder).build()?;
    host.serve(agent.caller());
    let joined = Joined { agent, host, changes, resources, builtin, tools };
    joined.offer_tools()?;
    joined.choose_tools();
    Ok(joined)
}

impl Joined {
    fn choose_tools(&self) {
        match &self.tools {
            ToolChoice::All => {}
            ToolChoice::Only(names) => self.agent.set_active_tools(Some(names.clone())),
            ToolChoice::None => self.agent.set_active_tools(Some(Vec::new())),
        }
    }

    /// Makes sure that what must be in place is, and that `--tools` names tools that there are.
    ///
    /// # Errors
    /// What is missing.
    pub(crate) async fn check(&self) -> anyhow::Result<()> {
        self.required()?;
        self.check_tools().await
    }

    /// A guard that must be in place and is not ends the run before anything happens; so does one that there may be.
    fn required(&self) -> anyhow::Result<()> {
        if let Some(why) = self.host.blocked() {
            return Err(anyhow::anyhow!("no tool may run: {why}; `haft doctor` says what to do"))
                .or_exit(Exit::RequiredExtension);
        }
        let missing = self.host.states().into_iter().find(|status| {
            status.required && !matches!(status.state, ExtensionState::Ready | ExtensionState::Idle)
        });
        match missing {
            None => Ok(()),
            Some(status) => Err(anyhow::anyhow!(
                "required extension {} is not running; `haft doctor` says why and what to do",
                status.name
            ))
            .or_exit(Exit::RequiredExtension),
        }
    }

    /// Makes sure that `--tools` names tools that there are. An extension that is slow to start may have one.
    ///
    /// # Errors
    /// Which is unknown, and which there are.
    async fn check_tools(&self) -> anyhow::Result<()> {
        let ToolChoice::Only(names) = &self.tools else { return Ok(()) };
        let mut known = self.tool_names();
        if names.iter().any(|name| !known.contains(name)) {
            self.host.settled().await;
            self.offer_tools()?;
            known = self.tool_names();
        }
        match names.iter().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                Err(anyhow::anyhow!("--tools: there is no tool {name:?}; there are {}", known.join(", ")))
                    .or_exit(Exit::Usage)
            }
        }
    }

    fn tool_names(&self) -> Vec<String> {
        let tools = self.builtin.iter().cloned().chain(self.host.tools());
        tools.map(|tool| tool.spec().name.clone()).collect()
    }

    /// Offers the tools of this moment: the built-in ones, then the extensions'.
    pub(crate) fn offer_tools(&self) -> anyhow::Result<()> {
        let mut set = ToolSet::default();
        for tool in self.builtin.iter().cloned().chain(self.host.tools()) {
            set.add(tool)?;
        }
        self.agent.set_tools(set)?;
        Ok(())
    }
}

/// This program starts its own extensions, in another role.
#[cfg(not(test))]
fn launcher() -> anyhow::Result<Launcher> {
    Launcher::this_program(crate::LAUNCHER_ROLE).context("cannot tell where haft is")
}

/// The program that runs is the test, which has no other role.
#[cfg(test)]
fn launcher() -> anyhow::Result<Launcher> {
    Ok(Launcher { program: haft_test_support::launcher(), args: Vec::new() })
}
