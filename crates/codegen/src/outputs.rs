//! Files that are generated from types. JSON Schema, `meta.json` and the tables in `docs/protocol.md`,
//! `docs/hook-protocol.md` and `docs/rpc-protocol.md` come from the protocol's types. The tables in `docs/config.md`
//! come from the configuration, those in `docs/tui.md` from the interactive mode.

mod config;
mod docs;
mod fields;
mod hooks;
mod rpc;
mod schema;
mod tui;

use std::fs;

use anyhow::{Context, Result, bail};

use xtask::repo;

/// The mode of a run: write the files, or only compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    Write,
    Check,
}

/// A file and its expected content.
pub(crate) struct GeneratedFile {
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// Brings every generated file up to date, or returns an error that lists the outdated files.
pub(crate) fn run(mode: RunMode) -> Result<()> {
    let mut outputs = schema::schema_files()?;
    outputs.push(docs::output()?);
    outputs.push(hooks::output()?);
    outputs.push(rpc::output()?);
    outputs.push(config::output()?);
    outputs.push(tui::output()?);
    write_outputs(mode, &outputs, "cargo xtask codegen")
}

/// Writes the files that are not up to date, or returns an error that lists them and the command that renews them.
pub(crate) fn write_outputs(mode: RunMode, outputs: &[GeneratedFile], command: &str) -> Result<()> {
    let stale: Vec<&GeneratedFile> = outputs.iter().filter(|output| !is_current(output)).collect();
    if mode == RunMode::Check && !stale.is_empty() {
        let paths: Vec<&str> = stale.iter().map(|output| output.path).collect();
        bail!("{} out of date: run `{command}` and review the change", paths.join(", "));
    }
    for output in stale {
        let path = repo::root().join(output.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, &output.text).with_context(|| format!("write {}", output.path))?;
        println!("wrote {}", output.path);
    }
    Ok(())
}

fn is_current(output: &GeneratedFile) -> bool {
    fs::read_to_string(repo::root().join(output.path)).is_ok_and(|text| text == output.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_current() {
        run(RunMode::Check).unwrap();
    }
}
