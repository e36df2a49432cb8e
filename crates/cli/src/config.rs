//! `haft config`: the settings as they hold, and where they come from.

use std::fmt::Write as _;

use anyhow::Context as _;
use haft_config::{Config, Files, Home, Layer, Origin, Place, Project, Row};
use haft_core::sanitize::sanitize_line;
use serde_json::{Value, json};

use crate::args::{ConfigArgs, ConfigCommand, ShowArgs};
use crate::console::{note, print};
use crate::exit::{Exit, OrExit as _};
use crate::setup;

/// Runs one of the subcommands.
pub(crate) fn run(args: ConfigArgs) -> anyhow::Result<Exit> {
    match args.command {
        ConfigCommand::Show(args) => show(args),
    }
}

/// Prints what holds; a file with a mistake is told and takes nothing of the others away.
fn show(args: ShowArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = setup::cwd(args.cwd).or_exit(Exit::Usage)?;
    let project = setup::project(cwd, args.trust_project);
    let env = Layer::from_env(|name| std::env::var(name).ok()).or_exit(Exit::Configuration)?;
    let (files, mistakes) = Files::read_what_can_be(&home, &project);
    let config = files.below_unchecked(Layer::empty(Place::Flags), env);
    print(&if args.json { as_json(&config)? } else { as_text(&config.rows(), args.origin) })?;
    tell(&config, &project);
    match mistakes.is_empty() {
        true => Ok(Exit::Ok),
        false => {
            let mistakes: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
            Err(anyhow::anyhow!(mistakes.join("\n"))).or_exit(Exit::Configuration)
        }
    }
}

fn tell(config: &Config, project: &Project) {
    let unused: Vec<_> = config.unused.iter().cloned().collect();
    let told = project.told(&unused).into_iter().chain(config.refused.clone());
    told.for_each(|text| note(&sanitize_line(&format!("haft: {text}"))));
}

/// A line for each setting, as it would stand in `config.toml`; what nobody set is a comment.
fn as_text(rows: &[Row], origins: bool) -> String {
    let shown: Vec<(String, &Origin)> = rows.iter().map(|row| (line(row), &row.origin)).collect();
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

fn line(row: &Row) -> String {
    let line = match &row.value {
        Some(value) => format!("{} = {}", row.key, toml(value)),
        None => format!("# {} is not set: {}", row.key, row.default),
    };
    sanitize_line(&line)
}

/// A value as TOML writes it, on one line.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| format!("{} = {}", json!(key), toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn as_json(config: &Config) -> anyhow::Result<String> {
    let settings: Vec<Value> = config.rows().iter().map(setting).collect();
    let unused = config.unused.as_ref().map(|unused| json!({"path": unused.path, "sets": unused.sets}));
    let all = json!({ "settings": settings, "unused": unused, "refused": config.refused });
    serde_json::to_string_pretty(&all).context("cannot write JSON")
}

fn setting(row: &Row) -> Value {
    let origin = match &row.origin {
        Origin::Flag(flag) => json!({"kind": "flag", "name": flag}),
        Origin::Env(variable) => json!({"kind": "environment", "name": variable}),
        Origin::File { path, line } => json!({"kind": "file", "path": path, "line": line}),
        Origin::Default => json!({"kind": "default"}),
    };
    json!({"key": row.key, "value": row.value, "default": row.default, "origin": origin})
}
