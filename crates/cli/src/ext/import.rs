//! `haft ext import`: adds the hooks of another program to the user's configuration.

mod zot;

use std::path::Path;

use haft_config::{
    Config, ConfigFiles, ConfigLayer, Home, HooksFile, LayerSource, Project, ProjectTrust, add_hooks,
};
use haft_core::sanitize::sanitize_line;
use haft_packages::install::ApprovalLine;

use super::approve::print_lines;
use crate::console::{confirm_at_terminal, note, prefixed_rows, terminal_width};
use crate::hooks::{self, GateRelaxation};

pub(super) use zot::import_zot;

/// Shows the hooks of a PicoClaw `config.json`, asks, and writes them to the user's `config.toml`.
pub(super) fn import_picoclaw(home: &Home, path: &Path, yes: bool) -> anyhow::Result<()> {
    let file = HooksFile::load(path)?;
    hooks::print_unknown_keys(&file);
    let all = &file.content().processes;
    anyhow::ensure!(!all.is_empty(), "{} contains no process hooks", path.display());
    let config = load_user_config(home)?;
    let line = |(text, red)| ApprovalLine { text, red };
    print_lines(
        &file
            .hooks()
            .iter()
            .flat_map(|hook| hooks::summary_lines(&config, hook))
            .map(line)
            .collect::<Vec<_>>(),
    )?;
    let runs = |name: &str| file.hooks().iter().any(|hook| hook.name == name);
    let off: Vec<_> = all.keys().map(String::as_str).filter(|name| !runs(name)).collect();
    if !off.is_empty() {
        print_lines(&[ApprovalLine { text: format!("not enabled: {}", off.join(", ")), red: false }])?;
    }
    // These settings take effect as soon as the user enables the hook.
    let loosened = gate_relaxations(&file);
    let of_off = loosened.iter().filter(|(name, _)| !runs(name));
    print_lines(&of_off.map(|(name, text)| line((format!("{name}: {text}"), true))).collect::<Vec<_>>())?;
    let target = home.config_file();
    let shown = target.display();
    let unconfined = file.hooks().iter().any(|hook| hooks::sandbox_text(&config, &hook.name).1);
    let question = match unconfined {
        true => {
            format!("write these hooks to {shown} and let them run WITHOUT A SANDBOX, with all your rights?")
        }
        false => format!("write these hooks to {shown}?"),
    };
    if !yes && !confirm_at_terminal(&question)? {
        note("nothing was changed");
        return Ok(());
    }
    add_hooks(&target, file.content())?;
    let names: Vec<_> = all.keys().map(String::as_str).collect();
    note(&sanitize_line(&format!("wrote {} to {shown}; `haft ext list` lists them", names.join(", "))));
    if yes {
        // With --yes, the user has not reviewed these settings.
        let warnings = loosened.iter().map(|(name, text)| format!("warning: {name}: {text}"));
        warnings.for_each(|text| note(&prefixed_rows("", "  ", &sanitize_line(&text), terminal_width())));
    }
    import_notes(&file).iter().for_each(|text| note(&sanitize_line(text)));
    if config.hooks_off {
        note("process hooks are off: [hooks] in config.toml has enabled = false");
    }
    Ok(())
}

/// Returns the settings of the file that weaken a gate, each with the hook's name.
fn gate_relaxations(file: &HooksFile) -> Vec<(&str, String)> {
    let of = |(name, process)| {
        let lines = GateRelaxation::from_process(process).warning_lines().into_iter();
        lines.map(move |line| (name, line))
    };
    file.content().processes.iter().map(|(name, process)| (name.as_str(), process)).flat_map(of).collect()
}

/// Loads the user's settings, without those of a project.
fn load_user_config(home: &Home) -> anyhow::Result<Config> {
    let nowhere = Project { dir: home.root().into(), trust: ProjectTrust::Untrusted };
    let files = ConfigFiles::read(home, &nowhere)?;
    Ok(files.merge_unchecked(
        ConfigLayer::empty(LayerSource::Flags),
        ConfigLayer::empty(LayerSource::Env),
        &|_, _| None,
    ))
}

/// Returns the differences to the behavior in the other program.
fn import_notes(file: &HooksFile) -> Vec<String> {
    let is_relative = |hook: &&haft_config::ProcessHook| {
        let program = hook.command.first().map(String::as_str).unwrap_or_default();
        let near = hook.dir.as_ref().is_none_or(|dir| dir.is_relative());
        near && (hook.dir.is_some() || program.contains('/') && Path::new(program).is_relative())
    };
    let relative = file
        .hooks()
        .iter()
        .find(is_relative)
        .map(|hook| format!("{}: its path is relative to haft's working directory", hook.name));
    relative.into_iter().collect()
}
