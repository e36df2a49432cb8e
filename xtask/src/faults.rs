//! The fault matrix: builds what its rows start, and runs it. What a row is, `crates/faults/src/main.rs` says.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::{ci, repo};

/// Builds everything and runs rows.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    // As `ci` does, so that nothing is built twice.
    ci::cargo_run(&ci::BINARIES.split(' ').collect::<Vec<_>>())?;
    run_built(args)
}

/// Runs rows with what is built already.
pub(crate) fn run_built(args: &[&str]) -> Result<()> {
    let binary = target()?.join("debug").join(format!("haft-faults{}", std::env::consts::EXE_SUFFIX));
    let status = repo::command(&binary.to_string_lossy())
        .args(args)
        .status()
        .with_context(|| format!("start {}", binary.display()))?;
    if !status.success() {
        bail!("the fault matrix: {status}; what failed lies below {}", target()?.join("faults").display());
    }
    Ok(())
}

fn target() -> Result<PathBuf> {
    let metadata = repo::metadata()?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata names no target directory")?.into())
}
