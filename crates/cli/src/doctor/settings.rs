//! Checks settings files, the environment, and the providers' keys. Keys are never shown.

use std::net::{Ipv4Addr, TcpStream};

use haft_config::ConfigLayer;
use haft_core::prompt::SKILL_TOOL;
use haft_protocol::names::unknown_tools;
use haft_providers::{PRESETS, find_preset, key_location};
use haft_tui::keys::Keymap;

use super::InstallationState;
use super::files::editor_command;
use super::finding::{Finding, FindingArea};
use crate::tool_sandbox::ToolPathReader;
use crate::{sandbox, timeouts};

fn check_keybindings(seen: &InstallationState) -> Option<Finding> {
    let path = seen.home.keybindings_file();
    let mistake = match std::fs::read_to_string(&path) {
        Ok(text) => Keymap::read(&text).err()?.to_string(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => error.to_string(),
    };
    Some(FindingArea::Settings.wrong(
        "keybindings.toml",
        mistake,
        editor_command(&seen.path_formatter.shell_word(&path)),
    ))
}

/// Returns a note about names in `tools.approve` that match no tool. The tools of extensions are unknown before they run,
/// so with extensions no name is reported.
fn check_approve_setting(seen: &InstallationState) -> Option<Finding> {
    const KEY: &str = "tools.approve";
    let row = seen.config.rows().into_iter().find(|row| row.key == KEY)?;
    let names: Vec<String> = serde_json::from_value(row.value?).ok()?;
    let own = haft_tools::NAMES.iter().chain([&SKILL_TOOL]).copied();
    let wrong = if seen.extensions.specs.is_empty() { unknown_tools(&names, own) } else { Vec::new() };
    let mistakes = wrong.iter().map(|name| format!("{name} is not a tool")).collect::<Vec<_>>().join("; ");
    let text = format!("{mistakes}; unknown names have no effect");
    let file = seen.path_formatter.shell_word(&seen.home.config_file());
    (!mistakes.is_empty()).then(|| FindingArea::Settings.wrong(KEY, text, editor_command(&file)))
}

pub(super) fn check_settings(seen: &InstallationState) -> Vec<Finding> {
    let mut findings = Vec::new();
    let file = seen.home.config_file();
    for (path, mistake) in &seen.mistakes {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        findings.push(FindingArea::Settings.wrong(
            name,
            mistake,
            editor_command(&seen.path_formatter.shell_word(path)),
        ));
    }
    for missing in seen.config.missing_places() {
        findings.push(FindingArea::Settings.wrong(
            "extensions",
            missing.to_string(),
            editor_command(&seen.path_formatter.shell_word(&file)),
        ));
    }
    if let Err(error) = sandbox::sandbox_grants(&seen.config) {
        findings.push(FindingArea::Settings.wrong(
            "grants",
            format!("{error:#}"),
            editor_command(&seen.path_formatter.shell_word(&file)),
        ));
    }
    let tool_paths = ToolPathReader::new(&seen.home, &seen.cwd);
    for text in tool_paths.missing_path_notes(&seen.config.tools) {
        findings.push(FindingArea::Settings.note("tools", text));
    }
    if let Err(error) = tool_paths.check(&seen.config.tools) {
        findings.push(FindingArea::Settings.wrong(
            "tools",
            format!("{error:#}"),
            editor_command(&seen.path_formatter.shell_word(&file)),
        ));
    }
    if let Err(error) = ConfigLayer::from_env(|name| std::env::var(name).ok()) {
        findings.push(FindingArea::Settings.wrong("environment", error.to_string(), "env | grep ^HAFT_"));
    }
    if let Some(refused) = &seen.config.refused {
        findings.push(FindingArea::Settings.note("project", refused));
    }
    findings.extend(check_keybindings(seen));
    findings.extend(check_approve_setting(seen));
    if findings.is_empty() {
        let name = seen.path_formatter.display_path(&file);
        findings.push(match file.exists() {
            true => FindingArea::Settings.ok(name, "is valid").with_next_step("haft config show --origin"),
            false => FindingArea::Settings.ok(name, "does not exist; defaults are in effect"),
        });
    }
    findings
}

pub(super) fn check_provider_keys(seen: &InstallationState) -> Vec<Finding> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let stored = seen.auth.providers().map(|name| format!("{name} (auth.json)"));
    let variables = PRESETS.iter().filter_map(|preset| Some((preset.name, preset.key_env?)));
    let variables = variables.filter(|(_, variable)| set(variable));
    let variables = variables.map(|(name, variable)| format!("{name} ({variable})"));
    let all: Vec<String> = stored.chain(variables).collect();
    let mut findings = Vec::new();
    if all.is_empty() {
        let text = "no API key found; without a key, haft looks for a model server on this machine; `haft login PROVIDER` \
                    saves a key";
        findings.push(FindingArea::Keys.note("providers", text).with_next_step("haft login anthropic"));
    } else {
        findings.push(FindingArea::Keys.ok("providers", all.join(", ")));
    }
    findings.extend(check_chosen_provider(seen, &set));
    findings.extend(check_local_server(seen, &set));
    findings
}

/// Returns a finding if the configured provider is a server on this machine, at its default port, and no server listens
/// there.
fn check_local_server(seen: &InstallationState, set: &dyn Fn(&str) -> bool) -> Option<Finding> {
    let settings = &seen.config.settings;
    let preset = find_preset(settings.provider.as_ref()?.value.as_str())?;
    let elsewhere = settings.base_url.is_some()
        || preset.base_url_env.is_some_and(set)
        || seen.models.names_provider(preset.name);
    let port = preset.local_port.filter(|_| !elsewhere)?;
    (!is_listening(port)).then(|| report_silent_port(preset.name, port))
}

fn is_listening(port: u16) -> bool {
    TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), timeouts::LOCAL_SERVER).is_ok()
}

fn report_silent_port(name: &str, port: u16) -> Finding {
    let text =
        format!("is the provider in your settings, but no server listens on port {port} of this machine");
    let next = match name {
        "ollama" => "ollama serve".to_owned(),
        _ => format!("curl http://127.0.0.1:{port}/v1/models"),
    };
    FindingArea::Keys.wrong(name, text, next)
}

/// Returns a finding if the configured provider needs a key and has none. A server at the user's own address may need
/// no key.
fn check_chosen_provider(seen: &InstallationState, set: &dyn Fn(&str) -> bool) -> Option<Finding> {
    let settings = &seen.config.settings;
    let name = settings.provider.as_ref()?.value.as_str();
    let wants_none =
        find_preset(name).is_some_and(|preset| preset.local_port.is_some() || preset.key_env.is_none());
    let home = key_location(name, &seen.models)?;
    let variable = home.variable.filter(|_| !wants_none)?;
    let has = settings.base_url.is_some() || set(&variable) || seen.auth.key(&home.stored_as).is_some();
    (!has).then(|| {
        let text = format!("is the provider in your settings, but has no key in {variable} or auth.json");
        FindingArea::Keys.wrong(name, text, format!("haft login {name}"))
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn server_on_a_port_is_noticed() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(is_listening(listener.local_addr().unwrap().port()));
    }

    #[test]
    fn silent_port_is_a_problem_with_a_next_step() {
        let check = |name: &str, next: &str| {
            let found = report_silent_port(name, 11434);
            assert!(found.is_wrong() && found.text.contains("no server listens on port 11434"), "{found:?}");
            assert_eq!(found.next.as_deref(), Some(next));
        };
        check("ollama", "ollama serve");
        check("vllm", "curl http://127.0.0.1:11434/v1/models");
    }
}
