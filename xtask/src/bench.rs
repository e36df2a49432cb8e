//! The benchmarks: builds what they start, in release mode, and runs them. What a row is, `docs/benchmarks.md` says.

use anyhow::{Context, Result, bail};

use crate::{ci, repo};

/// Everything that a row starts.
const ALL: &str = "build --release -p haft -p haft-bench -p haft-launch -p haft-example-guard --bins";

/// The gates and the counts start nothing but the benchmark's own binary.
const GATE: &str = "build --release -p haft-bench --bins";

/// Builds, and hands the arguments to the benchmark's binary.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let build = if matches!(args.first(), Some(&"gate" | &"counts")) { GATE } else { ALL };
    ci::cargo_run(&build.split(' ').collect::<Vec<_>>())?;
    let binary = repo::target()?.join("release").join(format!("haft-bench{}", std::env::consts::EXE_SUFFIX));
    let status = repo::command(&binary.to_string_lossy())
        .args(args)
        .status()
        .with_context(|| format!("start {}", binary.display()))?;
    if !status.success() {
        bail!("haft-bench {}: {status}", args.join(" "));
    }
    Ok(())
}
