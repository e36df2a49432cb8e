//! The fault matrix and the measured goals: builds what they start, and runs them. What a row is, `crates/faults/src/main.rs` says.

use anyhow::{Context, Result, bail};

use crate::{ci, repo};

/// What the figures of goals are taken with.
const RELEASE: &str = "build --release -p haft -p haft-faults -p haft-launch -p haft-test-support --bins";

/// Builds everything and runs rows, or measures goals: full figures in release mode.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if let Some(rest) = without(args, "--goals") {
        let full = rest.contains(&"--full");
        let build = if full { RELEASE } else { ci::BINARIES };
        ci::cargo_run(&build.split(' ').collect::<Vec<_>>())?;
        return start(if full { "release" } else { "debug" }, &[&["goal"], rest.as_slice()].concat());
    }
    // As `ci` does, so that nothing is built twice.
    ci::cargo_run(&ci::BINARIES.split(' ').collect::<Vec<_>>())?;
    run_built(args)
}

/// Runs rows with what is built already.
pub(crate) fn run_built(args: &[&str]) -> Result<()> {
    start("debug", args)
}

/// The arguments without a flag, if it is among them.
fn without<'a>(args: &[&'a str], flag: &str) -> Option<Vec<&'a str>> {
    args.contains(&flag).then(|| args.iter().copied().filter(|arg| *arg != flag).collect())
}

fn start(profile: &str, args: &[&str]) -> Result<()> {
    let binary = repo::built(profile, "haft-faults")?;
    let status = repo::command(&binary.to_string_lossy())
        .args(args)
        .status()
        .with_context(|| format!("start {}", binary.display()))?;
    if !status.success() {
        bail!(
            "{status}; what failed, if anything ran, lies below {}",
            repo::target()?.join("faults").display()
        );
    }
    Ok(())
}
