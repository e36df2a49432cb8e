//! Process hooks in the list of extensions.

use std::path::Path;

use haft_config::{
    Config, ConfigError, ConfigFiles, ConfigLayer, Home, LayerSource, Owner, ProcessHook, Project,
    ProjectTrust, SettingOrigin,
};
use haft_packages::install::{ExtensionStore, InstallError, InstallStatus, InstalledExtension};
use haft_packages::manifest::ExecCommand;
use haft_packages::{ExtensionOrigin, ExtensionSpec};

use crate::args::ExtCommand;
use crate::hooks::{self, GateRelaxation, HookLaunchContext};

/// The details of a process hook in a list.
#[derive(Debug, Clone)]
pub(crate) struct HookListDetails {
    pub(crate) origin: SettingOrigin,
    /// The hook points and events of the hook; empty if it does not run.
    pub(crate) hook_points: String,
    /// The priority, lowest first; `None` if the hook does not run.
    pub(crate) priority: Option<i32>,
    /// The specification with which a run starts the hook; `None` if it does not run.
    pub(crate) spec: Option<ExtensionSpec>,
    /// The relaxations of the gate; `None` if the hook does not run.
    pub(crate) relaxation: GateRelaxation,
}

/// Returns all configured hooks, and the files that cannot be read. Hooks of the project are included as if it were
/// trusted; its trust decides which of two hooks of one name wins.
pub(crate) fn list_hooks(
    home: &Home,
    cwd: &Path,
    is_trusted: bool,
) -> (Vec<(InstalledExtension, HookListDetails)>, Vec<ConfigError>) {
    let project = Project { dir: cwd.into(), trust: ProjectTrust::Trusted };
    let (files, mistakes) = ConfigFiles::read_leniently(home, &project);
    let config: Config = files.merge_unchecked(
        ConfigLayer::empty(LayerSource::Flags),
        ConfigLayer::empty(LayerSource::Env),
        &|_, _| None,
    );
    let context = HookLaunchContext { home: home.clone(), cwd: cwd.into(), is_trusted };
    let enabled = config.hooks.iter().map(|hook| {
        let of = HookListDetails {
            origin: hook.origin.clone(),
            hook_points: hooks::hook_points_text(hook),
            priority: Some(hook.priority),
            spec: Some(hooks::hook_spec(hook, &context)),
            relaxation: GateRelaxation::for_hook(&config, hook),
        };
        let row = hook_row(&hook.name, hook.owner, cwd, Some(hook));
        match context.start_refusal(hook) {
            None => (row, of),
            Some(why) => (InstalledExtension { state: InstallStatus::Broken(why), ..row }, of),
        }
    });
    let disabled = config.disabled_hooks.iter().map(|hook| {
        let of = HookListDetails {
            origin: hook.origin.clone(),
            hook_points: String::new(),
            priority: None,
            spec: None,
            relaxation: GateRelaxation::default(),
        };
        (hook_row(&hook.name, hook.owner, cwd, None), of)
    });
    let mut all: Vec<_> = enabled.chain(disabled).collect();
    all.sort_by(|(one, _), (other, _)| (one.origin, &one.name).cmp(&(other.origin, &other.name)));
    (all, mistakes)
}

/// Rejects commands about a process hook: only the user edits hooks, in `config.toml`.
///
/// # Errors
/// The place where the hook is configured, and the change to make there.
pub(super) fn reject_hook_names(
    store: &ExtensionStore,
    home: &Home,
    cwd: &Path,
    command: &ExtCommand,
) -> anyhow::Result<()> {
    let (name, is_switched) = match command {
        ExtCommand::Remove { which, .. } | ExtCommand::Enable(which) | ExtCommand::Disable(which) => {
            (&which.name, true)
        }
        ExtCommand::Trust { name, .. } | ExtCommand::Rollback { name, .. } => (name, false),
        ExtCommand::Update { name: Some(name), .. } | ExtCommand::Verify { name: Some(name), .. } => {
            (name, false)
        }
        ExtCommand::Update { name: None, .. }
        | ExtCommand::Verify { name: None, .. }
        | ExtCommand::List(_)
        | ExtCommand::Install { .. }
        | ExtCommand::Lock { .. }
        | ExtCommand::Import { .. }
        | ExtCommand::Logs { .. } => return Ok(()),
    };
    if !matches!(store.find(name, None), Err(InstallError::NotFound { .. })) {
        return Ok(());
    }
    match list_hooks(home, cwd, true).0.into_iter().find(|(row, _)| row.name == *name) {
        None => Ok(()),
        Some((_, HookListDetails { origin, .. })) if !is_switched => anyhow::bail!(
            "{name} is a process hook, which is configured instead of installed or approved; see \
             [hooks.processes.{name}], {origin}, and run `haft doctor` to check it"
        ),
        Some((_, HookListDetails { origin, .. })) => anyhow::bail!(
            "{name} is a process hook; edit or remove [hooks.processes.{name}], {origin} (`enabled` turns it on and off)"
        ),
    }
}

fn hook_row(name: &str, owner: Owner, cwd: &Path, runs: Option<&ProcessHook>) -> InstalledExtension {
    let dir = runs.and_then(|hook| hook.dir.as_ref()).map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir));
    let exec = runs.and_then(|hook| {
        let (program, args) = hook.command.split_first()?;
        Some(ExecCommand { program: program.clone(), args: args.to_vec() })
    });
    InstalledExtension {
        origin: match owner {
            Owner::User => ExtensionOrigin::Hook,
            Owner::Project => ExtensionOrigin::Project,
        },
        name: name.to_owned(),
        version: None,
        language: None,
        description: None,
        exec,
        runs_in: dir.clone(),
        dir,
        level: None,
        entry: None,
        state: if runs.is_some() { InstallStatus::Enabled } else { InstallStatus::Disabled },
    }
}
