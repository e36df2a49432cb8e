//! `haft demo`: a turn with two real extension processes, without a key or network.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use haft_config::Home;
use haft_core::session::Session;
use haft_packages::discovery::DiscoveryOptions;
use haft_providers::ScriptedModel;
use haft_sdk::{Extension, GateDecision};
use serde_json::json;

use crate::console::note;
use crate::exit::Exit;
use crate::run::{RunOutput, RunParts, run_with_parts};

const SCRIPT: &str = include_str!("demo/script.json");

/// The prompt of the demo.
const PROMPT: &str = "What is the weather in Berlin? Then clean up the build directory.";

pub(crate) fn run() -> anyhow::Result<Exit> {
    let place = tempfile::Builder::new()
        .prefix("haft-demo-")
        .tempdir()
        .context("cannot create a temporary directory")?;
    let project = place.path().join("project");
    fs::create_dir_all(project.join("build"))?;
    fs::write(project.join("build").join("precious.txt"), "still here\n")?;
    let explicit = ["weather", "guard"].map(|name| place.path().join("extensions").join(name));
    for dir in &explicit {
        write_manifest(dir)?;
    }
    let search = DiscoveryOptions { explicit: explicit.to_vec(), ..DiscoveryOptions::default() };
    let model = Arc::new(ScriptedModel::from_json(SCRIPT)?);
    let parts = RunParts::with_defaults(
        Session::in_memory(&project),
        model,
        Home::at(place.path().join("home")),
        &project,
        search,
    );
    note(&format!(
        "A scripted model and two real extension processes: weather (a tool) and guard (a gate).\n\n> {PROMPT}"
    ));
    run_with_parts(parts, PROMPT.to_owned(), RunOutput::with_progress())
}

/// Writes a manifest that starts this program in the role of an extension.
fn write_manifest(dir: &Path) -> anyhow::Result<()> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let exec = std::env::current_exe().context("cannot find the program file of haft")?;
    let manifest = json!({ "name": name, "exec": exec, "args": ["__extension", name] });
    fs::create_dir_all(dir)?;
    fs::write(dir.join("extension.json"), manifest.to_string())?;
    Ok(())
}

/// Serves an extension of the demo on standard input and output.
pub(crate) fn serve_extension(name: &str) -> anyhow::Result<Exit> {
    let extension = match name {
        "weather" => haft_example_weather::extension(),
        "guard" => guard(),
        _ => anyhow::bail!("the demo has no extension {name:?}; use weather or guard"),
    };
    Ok(if extension.run() == ExitCode::SUCCESS { Exit::Ok } else { Exit::Failure })
}

/// The gate of the demo. The example `guard` is the complete one; its parser of shell scripts would bring 24 crates into
/// the program.
fn guard() -> Extension {
    Extension::new("guard", "1.0.0").gate("bash", |call, _| async move {
        match call.tool_args.as_str().contains("rm -rf") {
            true => GateDecision::block("refused: matches danger pattern \"rm -rf\""),
            false => GateDecision::allow(),
        }
    })
}
