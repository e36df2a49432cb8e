//! Builds an agent from its model, tools and extensions.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use haft_config::{Config, GrantSettings, Home, OnTimeout, Owner, Project, ToolSettings};
use haft_core::compact::CompactSettings;
use haft_core::model::{Model, ModelId, ThinkingLevel};
use haft_core::prompt::SKILL_TOOL;
use haft_core::prompt::SystemPrompt;
use haft_core::sanitize::sanitize_line;
use haft_core::session::Session;
use haft_core::{Agent, AgentBuilder};
use haft_host::{ExtensionState, ExtensionStatus, Host, HostConfig, SpecSource, run_in_background};
use haft_launch::Launcher;
use haft_packages::discovery::DiscoveryOptions;
use haft_packages::install::LockFileToolPins;
use haft_packages::install::lock::ApprovalStore;
use haft_packages::{ExtensionEnv, ExtensionOrigin, ToolPins, check_grant};
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{ExtensionConfig, HostMode};
use haft_protocol::ids::ExtensionName;
use haft_rpc::ProgramTools as _;
use haft_tools::{Environment, FileMentions, ServiceTools, builtin_tools};
use tokio::sync::watch;

use crate::args::RunArgs;
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::extensions::{self, ProjectOnlySettings};
use crate::fetch::fetch_tool;
use crate::hooks::HookLaunchContext;
use crate::resources::PromptResources;
use crate::setup::RunSetup;
use crate::token::VARIABLES as TOKEN_VARIABLES;
use crate::tool_sandbox::{ProtectedDirs, sandbox_fact, tool_environment};

use super::guarded_tools::{check_guarded_tools, check_required_gates, warn_unknown_approvals};
use super::model::{self, ModelResolver};
use super::provider_secrets::{ProviderSecrets, make_results_private};
use super::session_outputs::SessionOutputs;
use super::session_resources::SessionResources;

/// The parts of a run before anything starts.
pub(crate) struct RunParts {
    pub(crate) session: Session,
    pub(crate) model: Arc<dyn Model>,
    /// The models that hooks may name; `None` if no hook runs.
    pub(crate) other_models: Option<ModelResolver>,
    pub(crate) home: Home,
    /// The configuration of the extension host, without the names and the launcher that [`build_agent`] adds.
    pub(crate) host: HostConfig,
    pub(crate) source: SpecSource,
    pub(crate) trust_event: Option<AgentEvent>,
    pub(crate) system: SystemPrompt,
    pub(crate) resources: PromptResources,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) max_steps: Option<u32>,
    pub(crate) compaction: CompactSettings,
    pub(crate) tools: ToolChoice,
    /// The access of haft's own tools.
    pub(crate) tool_settings: ToolSettings,
    /// The directories of gates that tools must not change.
    pub(crate) unpinned_code: Vec<PathBuf>,
    /// The keys of providers, which commands and results do not contain.
    pub(crate) secrets: ProviderSecrets,
}

/// The tools that the model receives.
#[derive(Debug, Clone)]
pub(crate) enum ToolChoice {
    /// The tools that the session names; all tools if it names none.
    All,
    /// The tools with these names, including those of extensions.
    Only(Vec<String>),
    None,
}

impl RunParts {
    /// Returns the parts of a run with default settings.
    pub(crate) fn with_defaults(
        session: Session,
        model: Arc<dyn Model>,
        home: Home,
        cwd: &Path,
        search: DiscoveryOptions,
    ) -> Self {
        let mut host = host_config(model.info(), &home, cwd);
        host.state = Some(home.state_dir());
        host.results = Some(home.results_dir());
        host.tool_pins = search.approved.clone().map(tool_pins);
        let context = hook_launch_context(&home, cwd, &search);
        Self {
            session,
            model,
            other_models: None,
            home,
            host,
            source: extensions::spec_source(
                search,
                Vec::new(),
                context,
                ProjectOnlySettings::default(),
                Vec::new(),
            ),
            trust_event: None,
            system: SystemPrompt::default().with_facts(environment_facts(cwd, &ToolSettings::default())),
            resources: PromptResources::default(),
            thinking: ThinkingLevel::Default,
            max_steps: None,
            compaction: CompactSettings::default(),
            tools: ToolChoice::All,
            tool_settings: ToolSettings::default(),
            unpinned_code: Vec::new(),
            secrets: ProviderSecrets::default(),
        }
    }

    pub(crate) fn new(
        args: &RunArgs,
        setup: RunSetup,
        model: Arc<dyn Model>,
        session: Session,
    ) -> anyhow::Result<Self> {
        let system =
            setup.resources.system_prompt(&args.agent, environment_facts(&setup.cwd, &setup.config.tools))?;
        let tools = match (&args.agent.tools, args.agent.no_tools) {
            (_, true) => ToolChoice::None,
            (Some(names), false) => ToolChoice::Only(names.clone()),
            (None, false) => ToolChoice::All,
        };
        let first = model::model_preferences(args, &setup);
        let told = if args.json { setup.trust_required_event() } else { None };
        let project_check = setup.project_check();
        let secrets = ProviderSecrets::new(args, &setup);
        let RunSetup { home, cwd, config, resources, auth, models, search, hooks, .. } = setup;
        let others = ModelResolver::new(first, &config.settings, models, auth, &model.info());
        let context = hook_launch_context(&home, &cwd, &search);
        let grants = config.grant.keys().cloned().collect();
        let unpinned_code = extensions::unpinned_code(&search, &hooks, &args.ext.hooks_config, &cwd);
        let source = extensions::spec_source(
            search.clone(),
            hooks,
            context,
            ProjectOnlySettings::from_config(&config),
            grants,
        );
        let plain = Self::with_defaults(session, model, home, &cwd, search);
        let mut host = with_settings(plain.host, &config)?;
        host.project_check = project_check;
        host.result_filter = Some(secrets.text_filter());
        Ok(Self {
            other_models: Some(others),
            host,
            source,
            trust_event: told,
            system,
            resources,
            thinking: config.settings.thinking.value,
            max_steps: config.settings.max_steps.as_ref().map(|sourced| sourced.value.get()),
            compaction: CompactSettings::from(&config.compaction),
            tools,
            tool_settings: config.tools,
            unpinned_code,
            secrets,
            ..plain
        })
    }

    /// Sets the mode that extensions are told.
    pub(crate) fn in_mode(mut self, mode: HostMode) -> Self {
        self.host.mode = Some(mode);
        self
    }
}

/// Returns a configuration of the host that records no state.
pub(super) fn host_config(model: ModelId, home: &Home, cwd: &Path) -> HostConfig {
    let mut host = HostConfig::new(env!("CARGO_PKG_VERSION"), model, cwd);
    host.logs = Some(home.logs_dir());
    host.data = Some(home.data_dir());
    host.home = Some(home.root().to_owned());
    host.secrets = vec![home.auth_file()];
    host.env.withheld = TOKEN_VARIABLES.map(str::to_owned).into();
    host
}

/// Adds the user's settings of extensions.
pub(super) fn with_settings(mut host: HostConfig, config: &Config) -> anyhow::Result<HostConfig> {
    let allows = |granted: &GrantSettings| {
        granted.on_timeout.as_ref().is_some_and(|set| set.value == OnTimeout::Allow)
    };
    let loosened = config.grant.iter().filter(|(_, granted)| allows(granted));
    host.on_timeout_allow = loosened.map(|(name, _)| ExtensionName::new(name.as_str())).collect();
    host.hello_timeouts = hello_timeouts(config);
    host.extension_config = extension_config(config, Owner::User)?;
    host.project_extension_config = extension_config(config, Owner::Project)?;
    host.env = ExtensionEnv { granted: granted_variables(config).or_exit(Exit::Configuration)?, ..host.env };
    host.sandbox = crate::sandbox::sandbox_grants(config).or_exit(Exit::Configuration)?;
    Ok(host)
}

fn hello_timeouts(config: &Config) -> BTreeMap<ExtensionName, Duration> {
    let timeout = |(name, granted): (&String, &GrantSettings)| {
        let millis = granted.hello_timeout_ms.as_ref()?.value;
        Some((ExtensionName::new(name.as_str()), Duration::from_millis(u64::from(millis.get()))))
    };
    config.grant.iter().filter_map(timeout).collect()
}

fn hook_launch_context(home: &Home, cwd: &Path, search: &DiscoveryOptions) -> HookLaunchContext {
    let is_trusted = search.project.as_ref().is_some_and(Project::is_trusted);
    HookLaunchContext { home: home.clone(), cwd: cwd.to_owned(), is_trusted }
}

/// Returns the facts for the model about the agent's environment.
fn environment_facts(cwd: &Path, tools: &ToolSettings) -> Vec<String> {
    let mut facts = vec![
        format!("Working directory: {}", cwd.display()),
        format!("Operating system: {}", std::env::consts::OS),
    ];
    facts.extend(sandbox_fact(tools));
    facts
}

/// Returns the settings for extensions of this owner, by extension name.
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

fn granted_variables(config: &Config) -> anyhow::Result<BTreeMap<ExtensionName, Vec<String>>> {
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

/// An agent with running extensions.
pub(crate) struct RunningAgent {
    pub(crate) agent: Agent,
    pub(crate) host: Host,
    /// Changes when the tools of the extensions change.
    pub(crate) changes: watch::Receiver<u64>,
    pub(crate) resources: Arc<SessionResources>,
    tools: ToolChoice,
}

/// Returns the store of tool pins: the lock file.
fn tool_pins(approved: ApprovalStore) -> Arc<dyn ToolPins> {
    Arc::new(LockFileToolPins::new(approved, run_in_background))
}

/// Starts the extensions, waits until they are ready, and builds the agent.
pub(crate) async fn build_agent(parts: RunParts, ends: SessionOutputs) -> anyhow::Result<RunningAgent> {
    let launcher = launcher()?;
    let protected = ProtectedDirs { home: &parts.home, unpinned_code: &parts.unpinned_code };
    let environment = tool_environment(protected, &parts.host.cwd, &parts.tool_settings, launcher.clone())
        .or_exit(Exit::Configuration)?
        .with_notices(|text| note(&sanitize_line(&format!("haft: {text}"))));
    let environment = parts.secrets.keep_from_commands(environment);
    make_results_private(&parts.home.results_dir());
    let services = ServiceTools::new(environment.clone()).keep_out_of(parts.home.root());
    let environment: Arc<dyn Environment> = Arc::new(environment);
    let mut builtin = builtin_tools(Arc::clone(&environment));
    let fetch = fetch_tool();
    // A client of `haft rpc` attaches what it wants.
    let has_mentions = !matches!(parts.host.mode, Some(HostMode::Rpc));
    let mentions = FileMentions::new(Arc::clone(&environment), &builtin, parts.secrets.text_filter())
        .filter(|_| has_mentions)
        .map(|mentions| mentions.with_pages(Arc::clone(&fetch)));
    // Where commands have no network, the model has none either.
    if environment.sandbox().is_none_or(|sandbox| sandbox.network) {
        builtin.push(fetch);
    }
    let SessionOutputs { events, frontend, attach: joined } = ends;
    parts.trust_event.into_iter().for_each(|event| events(event));
    // An extension can add the first skill later.
    let names = builtin.iter().map(|tool| tool.spec().name.clone());
    let reserved_tools = names.chain([SKILL_TOOL.to_owned()]).collect();
    let source = parts.source;
    let mut config = parts.host;
    config.reserved_tools = reserved_tools;
    config.launcher = Some(launcher);
    let host = Host::builder(config)
        .frontend(frontend)
        .events(events)
        .services(Arc::new(services))
        .source(move || source())
        .start()
        .await;
    let builder = Agent::builder(parts.model);
    let mut builder = mentions
        .into_iter()
        .fold(builder, AgentBuilder::on_input)
        .session(parts.session)
        .after_tool_execute(parts.secrets.keys)
        .hook_source(host.hook_source())
        .thinking(parts.thinking)
        .compaction(parts.compaction);
    builder = parts.other_models.into_iter().fold(builder, AgentBuilder::models);
    if let Some(limit) = parts.max_steps {
        builder = builder.max_steps(limit);
    }
    // Subscribed before the tools are read, so that no change is missed.
    let changes = host.changes();
    let agent = joined(builder).build()?;
    host.serve(agent.tool_runner());
    let (system, own) = (parts.system, parts.resources);
    let resources = SessionResources::start(agent.clone(), host.clone(), builtin, system, own).await?;
    let joined = RunningAgent { agent, host, changes, resources, tools: parts.tools };
    joined.choose_tools();
    Ok(joined)
}

impl RunningAgent {
    fn choose_tools(&self) {
        match &self.tools {
            ToolChoice::All => {}
            ToolChoice::Only(names) => self.agent.set_active_tools(Some(names.clone())),
            ToolChoice::None => self.agent.set_active_tools(Some(Vec::new())),
        }
    }

    /// Checks that required extensions run and guard a tool, and that `--tools` names existing tools.
    pub(crate) async fn check(&self) -> anyhow::Result<()> {
        self.check_required()?;
        check_guarded_tools(&self.host, || self.tool_names()).await?;
        self.check_tools().await
    }

    /// Warns about names in `tools.approve` that no tool has.
    pub(crate) async fn warn_unknown_approvals(&self, approve: &[String]) {
        warn_unknown_approvals(approve, &self.host, || self.tool_names()).await;
    }

    /// Checks at the end of a run that no required gate was missing or guarded no tool.
    pub(crate) fn check_gates(&self) -> anyhow::Result<()> {
        check_required_gates(&self.host, &self.tool_names())?;
        self.check_blocked()
    }

    /// Fails if all tools are blocked because a required extension may be missing.
    fn check_blocked(&self) -> anyhow::Result<()> {
        match self.host.blocked_reason() {
            None => Ok(()),
            Some(why) => Exit::RequiredExtension.fail(blocked_text(&why)),
        }
    }

    /// Fails if a required extension does not run, or if a gate may be missing.
    fn check_required(&self) -> anyhow::Result<()> {
        self.check_blocked()?;
        let missing = self.host.statuses().into_iter().find(|status| {
            status.required && !matches!(status.state, ExtensionState::Ready | ExtensionState::Idle)
        });
        match missing {
            None => Ok(()),
            // `haft doctor` does not check extensions of `--ext`.
            Some(ExtensionStatus { name, origin: ExtensionOrigin::Explicit, .. }) => {
                Exit::RequiredExtension.fail(format!(
                    "the required extension {name} is not running; see the error above, or run `haft ext logs {name}`"
                ))
            }
            Some(ExtensionStatus { name, .. }) => Exit::RequiredExtension.fail(format!(
                "the required extension {name} is not running; run `haft doctor` for the reason and the next step"
            )),
        }
    }

    /// Checks that `--tools` names existing tools. Waits for slow extensions, which may register one.
    async fn check_tools(&self) -> anyhow::Result<()> {
        let ToolChoice::Only(names) = &self.tools else { return Ok(()) };
        let mut known = self.tool_names();
        if names.iter().any(|name| !known.contains(name)) {
            self.host.wait_until_settled().await;
            self.offer_tools()?;
            known = self.tool_names();
        }
        match names.iter().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => Exit::Usage
                .fail(format!("--tools: unknown tool {name:?}; available tools: {}", known.join(", "))),
        }
    }

    fn tool_names(&self) -> Vec<String> {
        let tools = self.resources.tools().into_iter().chain(self.host.tools());
        tools.map(|tool| tool.spec().name.clone()).collect()
    }

    /// Offers the current tools, as [`SessionResources::offer_tools`].
    pub(crate) fn offer_tools(&self) -> anyhow::Result<()> {
        self.resources.offer_tools()
    }
}

/// Returns the error text for blocked tools: the reason and the next step, unless the reason names a command.
fn blocked_text(why: &str) -> String {
    let next = if why.contains("`haft ") { "" } else { "; run `haft doctor` for the next step" };
    format!("no tool may run: {why}{next}")
}

#[cfg(not(test))]
pub(crate) fn launcher() -> anyhow::Result<Launcher> {
    Launcher::beside_this_program(crate::LAUNCHER_ROLE).context("cannot find the program file of haft")
}

/// In tests, the current program is the test, which has no launcher role.
#[cfg(test)]
pub(crate) fn launcher() -> anyhow::Result<Launcher> {
    Ok(Launcher { program: haft_test_support::launcher_path(), args: Vec::new() })
}
