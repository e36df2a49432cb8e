//! The setup of a run: files, settings, keys and the places of extensions.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use haft_config::{
    AuthFile, Config, ConfigFiles, ConfigLayer, Home, Owner, ProcessHook, Project, ProjectDigest, Settings,
    Snapshot, TrustDecision, UntrustedItem,
};
use haft_core::sanitize::sanitize_line;
use haft_packages::discovery::{Discovery, DiscoveryOptions, ExtraLocation, SkipReason};
use haft_packages::install::lock::ApprovalStore;
use haft_packages::{ExtensionOrigin, ProjectCheck};
use haft_protocol::event::AgentEvent;
use haft_providers::{ModelsFile, split_provider};

use crate::args::{ExtensionArgs, RunArgs, TrustProjectArgs};
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::hooks;
use crate::resources::PromptResources;
use crate::tool_sandbox::ToolPathReader;

/// The merged settings of flags, environment and files.
#[derive(Debug)]
pub(crate) struct RunSetup {
    pub(crate) home: Home,
    /// The absolute working directory of the agent.
    pub(crate) cwd: PathBuf,
    pub(crate) project: Project,
    /// True if a note reported why the project is no longer trusted.
    distrust_reported: bool,
    /// The digest of the code that may run, as it was when it was read.
    code: Option<ProjectDigest>,
    /// All settings, each with its origin.
    pub(crate) config: Config,
    pub(crate) resources: PromptResources,
    /// The keys in `auth.json`.
    pub(crate) auth: AuthFile,
    pub(crate) models: ModelsFile,
    pub(crate) search: DiscoveryOptions,
    pub(crate) hooks: Vec<ProcessHook>,
}

impl RunSetup {
    /// Reads the setup. Starts nothing.
    pub(crate) fn read(args: &RunArgs) -> anyhow::Result<Self> {
        let home = Home::locate().or_exit(Exit::Configuration)?;
        let cwd = working_directory(args.agent.cwd.clone()).or_exit(Exit::Usage)?;
        let TrustDecision { project, code, distrust_reason: told } =
            decide_trust(&home, cwd.clone(), &args.ext.trust)?;
        let env = ConfigLayer::from_env(|name| std::env::var(name).ok()).or_exit(Exit::Configuration)?;
        let files = ConfigFiles::read(&home, &project).or_exit(Exit::Configuration)?;
        let models = ModelsFile::load(&home.models_file()).or_exit(Exit::Configuration)?;
        let apart = |model: &str, beside: Option<&str>| split_provider(model, beside, &models);
        let config = files.merge(args.model.layer(&args.agent), env, &apart).or_exit(Exit::Configuration)?;
        let auth = AuthFile::load(&home.auth_file()).unwrap_or_else(|error| {
            note(&format!("haft: {:#}", anyhow::Error::new(error)));
            AuthFile::default()
        });
        let resources = PromptResources::find(&home, &project, config.settings.context_files.value);
        let resources = if args.agent.no_skills { resources.without_skills() } else { resources };
        let search = extension_search(&args.ext, &home, &config, project.clone());
        let hooks = hooks::collect_run_hooks(&args.ext, &config)?;
        Ok(Self {
            home,
            cwd,
            project,
            distrust_reported: told.is_some(),
            code,
            config,
            resources,
            auth,
            models,
            search,
            hooks,
        })
    }

    /// Returns the settings of provider, model and agent, each with its origin.
    pub(crate) fn settings(&self) -> &Settings {
        &self.config.settings
    }

    /// Returns a check that the project's code is unchanged since it was trusted; `None` without trusted code.
    pub(crate) fn project_check(&self) -> Option<ProjectCheck> {
        let (home, dir, trusted) = (self.home.clone(), self.project.dir.clone(), self.code?);
        Some(ProjectCheck::new(move || match Snapshot::take(&home, &dir) {
            Ok(now) if now.code_digest() == trusted => Ok(()),
            Ok(_) => Err(
                "the project's code has changed since the run began; run `haft trust` to review and trust it"
                    .to_owned(),
            ),
            Err(error) => Err(format!("cannot verify the project's code: {error}")),
        }))
    }

    /// Returns the event about ignored parts of an untrusted project. Searches for extensions again.
    pub(crate) fn trust_required_event(&self) -> Option<AgentEvent> {
        if self.project.is_trusted() {
            return None;
        }
        let dir = &self.project.dir;
        let shown = |path: &Path| path.strip_prefix(dir).unwrap_or(path).display().to_string();
        let unused = self.config.unused.iter().cloned().chain(self.resources.untrusted_items());
        let skipped = Discovery::run(&self.search).skipped.into_iter();
        let skipped = skipped.filter(|skipped| skipped.reason == SkipReason::Untrusted);
        let all = unused.map(|unused| shown(&unused.path));
        let skipped: Vec<_> =
            all.chain(skipped.map(|skipped| format!("extension {}", skipped.name))).collect();
        let message = "the project is not trusted, so these parts are ignored; run `haft trust` to review and trust it, \
                       or trust it for one run with --trust-project=DIGEST";
        (!skipped.is_empty()).then(|| AgentEvent::TrustRequired {
            project: dir.display().to_string(),
            skipped,
            message: message.to_owned(),
        })
    }

    /// Prints the notes of [`print_notes`](Self::print_notes) that [`trust_required_event`](Self::trust_required_event)
    /// does not report.
    pub(crate) fn print_other_notes(&self) {
        print_other_notes(&self.home, &self.config, &self.resources, &self.project, Vec::new());
    }

    /// Prints notes about ignored and invalid settings and files.
    pub(crate) fn print_notes(&self) {
        print_notes(&self.home, &self.config, &self.resources, &self.project, self.distrust_reported);
    }
}

/// Prints a line for each file or setting that is ignored because of missing trust, missing rights or a mistake.
pub(crate) fn print_notes(
    home: &Home,
    config: &Config,
    resources: &PromptResources,
    project: &Project,
    was_said: bool,
) {
    let unused: Vec<_> = config.unused.iter().cloned().chain(resources.untrusted_items()).collect();
    let told = UntrustedItem::summarize(&unused, project, was_said).into_iter().collect();
    print_other_notes(home, config, resources, project, told);
}

fn print_other_notes(
    home: &Home,
    config: &Config,
    resources: &PromptResources,
    project: &Project,
    told: Vec<String>,
) {
    let told = told.into_iter().chain(config.refused.clone()).chain(config.renamed.iter().cloned());
    let told = told.chain(resources.problems().map(str::to_owned));
    let told = told.chain(ToolPathReader::new(home, &project.dir).missing_path_notes(&config.tools));
    told.for_each(|text| note(&sanitize_line(&format!("haft: {text}"))));
}

/// Reads settings and models of all valid files; returns the mistakes of the others with their files.
pub(crate) fn read_leniently(
    home: &Home,
    project: &Project,
    flags: ConfigLayer,
    env: ConfigLayer,
) -> (Config, ModelsFile, Vec<(PathBuf, String)>) {
    let (files, found) = ConfigFiles::read_leniently(home, project);
    let mut mistakes: Vec<_> =
        found.iter().map(|mistake| (mistake.path().to_owned(), mistake.to_string())).collect();
    let models = ModelsFile::load(&home.models_file()).unwrap_or_else(|mistake| {
        mistakes.push((home.models_file(), mistake.to_string()));
        ModelsFile::default()
    });
    let apart = |model: &str, beside: Option<&str>| split_provider(model, beside, &models);
    (files.merge_unchecked(flags, env, &apart), models, mistakes)
}

/// Returns the absolute working directory: `--cwd`, or that of the process.
pub(crate) fn working_directory(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = named.unwrap_or_else(|| ".".into());
    let dir = std::path::absolute(&dir).context("cannot determine the current directory")?;
    anyhow::ensure!(dir.is_dir(), "--cwd: the directory {} does not exist", dir.display());
    Ok(dir)
}

/// Returns the project in a directory and its trust. If it is no longer trusted, prints the reason.
pub(crate) fn decide_trust(
    home: &Home,
    dir: PathBuf,
    trust: &TrustProjectArgs,
) -> anyhow::Result<TrustDecision> {
    let decision = TrustDecision::decide(home, dir, trust.trust_request()).or_exit(Exit::Trust)?;
    if let Some(told) = &decision.distrust_reason {
        note(&sanitize_line(&format!("haft: {told}")));
    }
    Ok(decision)
}

pub(crate) fn extension_search(
    args: &ExtensionArgs,
    home: &Home,
    config: &Config,
    project: Project,
) -> DiscoveryOptions {
    let further = config.extensions.iter().map(|place| ExtraLocation {
        dir: place.path.clone(),
        origin: match place.owner {
            Owner::User => ExtensionOrigin::Global,
            Owner::Project => ExtensionOrigin::Project,
        },
    });
    DiscoveryOptions {
        explicit: args.ext.clone(),
        global: (!args.no_ext).then(|| home.extensions_dir()),
        project: (!args.no_ext).then_some(project),
        extra_locations: further.filter(|_| !args.no_ext).collect(),
        approved: Some(ApprovalStore::at(home.root())),
        path: std::env::var_os("PATH"),
    }
}
