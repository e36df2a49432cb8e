//! `haft config`: the settings in effect, and the source of each.

use std::fmt::Write as _;

use anyhow::Context as _;
use haft_config::{
    Config, ConfigLayer, ConfigRow, ContextFile, Home, LayerSource, SettingOrigin, Template, TrustDecision,
};
use haft_core::sanitize::sanitize_line;
use serde_json::{Value, json};

use crate::args::{ConfigArgs, ConfigCommand, ShowArgs};
use crate::console::print;
use crate::exit::{Exit, OrExit as _};
use crate::resources::PromptResources;
use crate::setup;
use crate::tool_sandbox::ToolPathReader;

pub(crate) fn run(args: ConfigArgs) -> anyhow::Result<Exit> {
    match args.command {
        ConfigCommand::Show(args) => show(args),
    }
}

/// Prints the settings in effect. A file with a mistake is reported and does not hide the other files.
fn show(args: ShowArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = setup::working_directory(args.cwd).or_exit(Exit::Usage)?;
    let TrustDecision { project, distrust_reason: told, .. } = setup::decide_trust(&home, cwd, &args.trust)?;
    let env = ConfigLayer::from_env(|name| std::env::var(name).ok()).or_exit(Exit::Configuration)?;
    let (config, _, mistakes) =
        setup::read_leniently(&home, &project, ConfigLayer::empty(LayerSource::Flags), env);
    let mut mistakes: Vec<String> = mistakes.into_iter().map(|(_, mistake)| mistake).collect();
    mistakes.extend(config.missing_places().map(|missing| missing.to_string()));
    let tool_paths = ToolPathReader::new(&home, &project.dir).check(&config.tools);
    mistakes.extend(tool_paths.err().map(|error| format!("{error:#}")));
    let resources = PromptResources::find(&home, &project, config.settings.context_files.value);
    print(&match (args.json, args.context) {
        (true, _) => as_json(&config, &resources)?,
        (false, true) => context_lines(&resources)?,
        (false, false) => as_text(&config.rows(), args.origin),
    })?;
    setup::print_notes(&home, &config, &resources, &project, told.is_some());
    match mistakes.is_empty() {
        true => Ok(Exit::Ok),
        false => Exit::Configuration.fail(mistakes.join("\n")),
    }
}

/// Returns a line for each file of the system prompt, each skill and each template.
fn context_lines(resources: &PromptResources) -> anyhow::Result<String> {
    let system = resources.custom_system_prompt()?;
    let system = system.map(|file| format!("system prompt {}", file_size_line(&file)));
    let files = resources.context.files.iter().map(file_size_line);
    let skills = resources.skills.skills.iter();
    let skills = skills.map(|skill| format!("skill {} in {}", skill.name, skill.dir.display()));
    let templates = resources.find_templates().templates.into_iter();
    let templates = templates
        .filter_map(|Template { name, path, .. }| Some(format!("template /{name} in {}", path?.display())));
    let lines = system.into_iter().chain(files).chain(skills).chain(templates);
    let lines: Vec<_> = lines.map(|line| sanitize_line(&line)).collect();
    let nothing = "haft's own system prompt; no context files, no skills and no templates";
    Ok(if lines.is_empty() { nothing.to_owned() } else { lines.join("\n") })
}

fn file_size_line(file: &ContextFile) -> String {
    let (path, bytes) = (file.path.display(), file.text.len());
    match file.cut {
        0 => format!("{path} ({bytes} bytes)"),
        cut => format!("{path} ({bytes} bytes, {cut} bytes left out)"),
    }
}

/// Returns a line for each setting in the syntax of `config.toml`. Settings without a value are comments.
fn as_text(rows: &[ConfigRow], origins: bool) -> String {
    let shown: Vec<(String, &SettingOrigin)> =
        rows.iter().map(|row| (setting_line(row), &row.origin)).collect();
    let width = shown.iter().map(|(line, _)| line.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (line, origin) in shown {
        // Writing to a String cannot fail.
        let _ = match origins {
            true => writeln!(text, "{line:<width$}  # {}", sanitize_line(&origin.to_string())),
            false => writeln!(text, "{line}"),
        };
    }
    text.truncate(text.trim_end().len());
    text
}

fn setting_line(row: &ConfigRow) -> String {
    let line = match &row.value {
        Some(value) if row.only_projects => {
            format!("# only for the project's own extension: {} = {}", row.key, toml_text(value))
        }
        Some(value) => format!("{} = {}", row.key, toml_text(value)),
        None => format!("# {} is not set: {}", row.key, row.default),
    };
    sanitize_line(&line)
}

fn toml_text(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| format!("{} = {}", json!(key), toml_text(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(toml_text).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn as_json(config: &Config, resources: &PromptResources) -> anyhow::Result<String> {
    let settings: Vec<Value> = config.rows().iter().map(setting_json).collect();
    let unused = config.unused.iter().cloned().chain(resources.untrusted_items());
    let unused: Vec<_> = unused.map(|unused| json!({"path": unused.path, "sets": unused.sets})).collect();
    let system = resources.custom_system_prompt()?.map(|file| file.path);
    let context = resources.context.files.iter();
    let context: Vec<_> = context.map(|file| json!({"path": file.path, "cut": file.cut})).collect();
    let skills = resources.skills.skills.iter();
    let skills: Vec<_> = skills.map(|skill| json!({"name": skill.name, "path": skill.dir})).collect();
    let templates = resources.find_templates().templates.into_iter();
    let templates = templates.filter(|template| template.path.is_some());
    let templates: Vec<_> =
        templates.map(|template| json!({"name": template.name, "path": template.path})).collect();
    let all = json!({
        "settings": settings,
        "system_prompt": system,
        "context": context,
        "skills": skills,
        "templates": templates,
        "unused": unused,
        "refused": config.refused,
    });
    serde_json::to_string_pretty(&all).context("cannot write JSON")
}

fn setting_json(row: &ConfigRow) -> Value {
    let origin = match &row.origin {
        SettingOrigin::Flag(flag) => json!({"kind": "flag", "name": flag}),
        SettingOrigin::Env(variable) => json!({"kind": "environment", "name": variable}),
        SettingOrigin::File { path, line } => json!({"kind": "file", "path": path, "line": line}),
        SettingOrigin::Default => json!({"kind": "default"}),
    };
    json!({
        "key": row.key,
        "value": row.value,
        "default": row.default,
        "origin": origin,
        "only_projects": row.only_projects,
    })
}
