//! Asks extensions of the user whether a project is trusted, before haft uses any of its files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_config::{Config, ConfigFiles, ConfigLayer, Home, Project, ProjectTrust, TrustRequest};
use haft_core::model::ModelId;
use haft_core::sanitize::sanitize_line;
use haft_host::{DiscoveredExtensions, ExtensionOrigin, ExtensionTrust, Host, HostConfig};
use haft_launch::tool_mark;
use haft_packages::ExtensionSpec;
use haft_packages::discovery::Discovery;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::InterceptProjectTrust;
use haft_providers::{ModelsFile, split_provider};

use super::build_agent::{host_config, launcher, with_settings};
use super::run_to_completion;
use crate::args::{RunArgs, TrustProjectArgs};
use crate::console::note;
use crate::setup::{extension_search, working_directory};
use crate::trust::UndecidedProject;

/// Adds the opinion of an extension about the project to the arguments, if the user has not decided about it. Problems
/// of the configuration are left to the start that follows.
pub(crate) fn ask_about_trust(args: RunArgs) -> anyhow::Result<RunArgs> {
    let is_decided = args.ext.trust.trust_request() != TrustRequest::Nothing || !is_up(Defense::ProjectTrust);
    // Below a tool or an extension of haft, only a person may decide.
    if is_decided || tool_mark().is_some() {
        return Ok(args);
    }
    let (Ok(home), Ok(cwd)) = (Home::locate(), working_directory(args.agent.cwd.clone())) else {
        return Ok(args);
    };
    let Some(undecided) = UndecidedProject::find(&home, &cwd) else { return Ok(args) };
    let Some((config, specs)) = find_deciders(&args, &home, cwd.clone()) else { return Ok(args) };
    let mut host = with_settings(host_config(named_model(&config), &home, &cwd), &config)?;
    host.launcher = Some(launcher()?);
    let question = undecided.to_question();
    match run_to_completion(ask_extensions(host, specs, question))? {
        Some(decision) => Ok(apply_decision(args, &undecided, &cwd, decision)),
        None => Ok(args),
    }
}

/// Returns the settings of the user, and the user's extensions that decide about trust; `None` if there are none.
fn find_deciders(args: &RunArgs, home: &Home, cwd: PathBuf) -> Option<(Config, Vec<ExtensionSpec>)> {
    let project = Project { dir: cwd, trust: ProjectTrust::Untrusted };
    let files = ConfigFiles::read(home, &project).ok()?;
    let models = ModelsFile::load(&home.models_file()).ok()?;
    let env = ConfigLayer::from_env(|name| std::env::var(name).ok()).ok()?;
    let apart = |model: &str, beside: Option<&str>| split_provider(model, beside, &models);
    let config = files.merge(args.model.layer(&args.agent), env, &apart).ok()?;
    let mut specs = Discovery::run(&extension_search(&args.ext, home, &config, project)).specs;
    specs.retain(|spec| {
        let is_users = matches!(spec.origin, ExtensionOrigin::Explicit | ExtensionOrigin::Global);
        spec.roles.decides_trust && is_users && !spec.is_from_project()
    });
    (!specs.is_empty()).then_some((config, specs))
}

/// Returns the model as the settings name it.
fn named_model(config: &Config) -> ModelId {
    let settings = &config.settings;
    let text = |set: Option<&String>| set.cloned().unwrap_or_default();
    ModelId {
        provider: text(settings.provider.as_ref().map(|set| &set.value)),
        model: text(settings.model.as_ref().map(|set| &set.value)),
    }
}

/// Starts the extensions for this question alone, and stops them again.
async fn ask_extensions(
    host: HostConfig,
    specs: Vec<ExtensionSpec>,
    question: InterceptProjectTrust,
) -> anyhow::Result<Option<ExtensionTrust>> {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&faults);
    let lock =
        |faults: &Mutex<Vec<_>>| std::mem::take(&mut *faults.lock().unwrap_or_else(PoisonError::into_inner));
    let found = DiscoveredExtensions::from(specs);
    let host = Host::builder(host)
        .events(Arc::new(move |event| {
            if let AgentEvent::ExtensionError(fault) = event {
                sink.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
            }
        }))
        .source(move || found.clone())
        .start()
        .await;
    host.wait_until_settled().await;
    // The start that follows reports the failures of this one again.
    drop(lock(&faults));
    let decision = host.ask_about_trust(&question).await;
    for fault in lock(&faults) {
        note(&sanitize_line(&format!("haft: extension {}: {}", fault.extension, fault.message)));
    }
    host.shutdown().await;
    Ok(decision)
}

/// Reports the decision, and adds it to the arguments.
fn apply_decision(
    mut args: RunArgs,
    undecided: &UndecidedProject,
    cwd: &std::path::Path,
    decision: ExtensionTrust,
) -> RunArgs {
    let ExtensionTrust { extension, trusts, remember, .. } = decision;
    let dir = cwd.display();
    let text = match (trusts, remember) {
        (false, _) => format!("extension {extension} does not trust the project in {dir}"),
        (true, false) => format!("extension {extension} trusts the project in {dir} for this run"),
        (true, true) => format!(
            "extension {extension} trusts the project in {dir} until it changes; `haft trust --revoke` ends the trust"
        ),
    };
    if trusts {
        match undecided.grant_trust(remember) {
            Ok(request) => args.ext.trust = TrustProjectArgs::with_request(request),
            Err(error) => {
                let text =
                    format!("haft: extension {extension} cannot trust the project in {dir}: {error:#}");
                note(&sanitize_line(&text));
                return args;
            }
        }
    }
    note(&sanitize_line(&format!("haft: {text}")));
    args
}
