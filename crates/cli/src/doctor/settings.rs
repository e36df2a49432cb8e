//! The files with settings, and the environment.

use haft_config::Layer;
use haft_core::prompt::SKILL_TOOL;
use haft_tui::keys::Keymap;

use super::Seen;
use super::files::editor;
use super::finding::{Area, Finding};
use crate::sandbox;

/// What is wrong with the file of keys, which then changes none.
fn keybindings(seen: &Seen) -> Option<Finding> {
    let path = seen.home.keybindings_file();
    let mistake = match std::fs::read_to_string(&path) {
        Ok(text) => Keymap::read(&text).err()?.to_string(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => error.to_string(),
    };
    Some(Area::Settings.wrong("keybindings.toml", mistake, editor(&seen.words.word(&path))))
}

/// Names in `tui.approve` that guard nothing. What extensions have is known only once they run, so where there are any,
/// only a name that nearly is a built-in tool's is told of.
fn approve(seen: &Seen) -> Option<Finding> {
    const KEY: &str = "tui.approve";
    let row = seen.config.rows().into_iter().find(|row| row.key == KEY)?;
    let names: Vec<String> = serde_json::from_value(row.value?).ok()?;
    let known = |name: &str| name == "*" || name == SKILL_TOOL || haft_tools::NAMES.contains(&name);
    let wrong = names.iter().filter(|name| !known(name));
    let told = wrong.filter_map(|name| {
        let meant = haft_tools::NAMES.iter().find(|known| known.eq_ignore_ascii_case(name));
        match meant {
            Some(meant) => Some(format!("{name} is no tool, {meant} is")),
            None => seen.extensions.specs.is_empty().then(|| format!("{name} is no tool")),
        }
    });
    let told = told.collect::<Vec<_>>().join("; ");
    let text = format!("{told}: nothing is asked for it");
    let file = seen.words.word(&seen.home.config_file());
    (!told.is_empty()).then(|| Area::Settings.wrong(KEY, text, editor(&file)))
}

pub(super) fn look(seen: &Seen) -> Vec<Finding> {
    let mut findings = Vec::new();
    let file = seen.home.config_file();
    for (path, mistake) in &seen.mistakes {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        findings.push(Area::Settings.wrong(name, mistake, editor(&seen.words.word(path))));
    }
    for missing in seen.config.missing_places() {
        findings.push(Area::Settings.wrong(
            "extensions",
            missing.to_string(),
            editor(&seen.words.word(&file)),
        ));
    }
    if let Err(error) = sandbox::granted(&seen.config) {
        findings.push(Area::Settings.wrong("grants", format!("{error:#}"), editor(&seen.words.word(&file))));
    }
    if let Err(error) = Layer::from_env(|name| std::env::var(name).ok()) {
        findings.push(Area::Settings.wrong("environment", error.to_string(), "env | grep ^HAFT_"));
    }
    if let Some(refused) = &seen.config.refused {
        findings.push(Area::Settings.note("project", refused));
    }
    findings.extend(keybindings(seen));
    findings.extend(approve(seen));
    if findings.is_empty() {
        let name = seen.words.path(&file);
        findings.push(match file.exists() {
            true => Area::Settings.ok(name, "is read, without a mistake").next("haft config show --origin"),
            false => Area::Settings.ok(name, "is not there; everything is as haft has it"),
        });
    }
    findings
}
