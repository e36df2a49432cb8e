//! Runs the fault matrix and the measured goals, and builds the programs that they start. `crates/faults/src/main.rs`
//! explains the rows.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{ci, repo};

/// Builds the programs for the measured goals.
const RELEASE: &str = "build --release -p haft -p haft-faults -p haft-test-support --bins";

/// Builds every program that rows start. With examples, cargo uses the features of dev-dependencies, like the build
/// of `ci`, so that nothing is compiled twice.
const BINARIES: &str = "build --workspace --bins --examples";

/// Builds the programs whose defenses can be disabled.
const UNDEFENDED: &str = "build -p haft -p haft-faults -p haft-test-support --bins";

/// Makes it possible to disable defenses: see `crates/protocol/src/defense.rs`.
const FLAG: &str = "--cfg haft_undefended";

/// Builds everything and runs rows, or measures goals; full measurements run in release mode.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if let Some(rest) = remove_flag(args, "--goals") {
        let full = rest.contains(&"--full");
        let build = if full { RELEASE } else { BINARIES };
        ci::cargo_run(&build.split(' ').collect::<Vec<_>>())?;
        let profile = if full { "release" } else { "debug" };
        return start(&repo::target_dir()?.join(profile), &[&["goal"], rest.as_slice()].concat());
    }
    if args.contains(&"--undefended") {
        return run_undefended(args);
    }
    ci::cargo_run(&BINARIES.split(' ').collect::<Vec<_>>())?;
    start(&repo::target_dir()?.join("debug"), args)
}

/// Builds with the flag in a separate target directory, so that no other build uses the result, and runs rows.
fn run_undefended(args: &[&str]) -> Result<()> {
    let target = repo::target_dir()?.join("undefended");
    let own = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut cargo = repo::cargo();
    cargo.args(UNDEFENDED.split(' ')).env("CARGO_TARGET_DIR", &target);
    // The encoded variable would override the other one.
    cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", format!("{own} {FLAG}").trim_start());
    ci::finish(&mut cargo, UNDEFENDED)?;
    start(&target.join("debug"), args)
}

/// Returns the arguments without a flag, or `None` if the flag is not among them.
fn remove_flag<'a>(args: &[&'a str], flag: &str) -> Option<Vec<&'a str>> {
    args.contains(&flag).then(|| args.iter().copied().filter(|arg| *arg != flag).collect())
}

fn start(programs: &Path, args: &[&str]) -> Result<()> {
    let binary = programs.join(format!("haft-faults{}", std::env::consts::EXE_SUFFIX));
    let status = repo::command(&binary.to_string_lossy())
        .args(args)
        .status()
        .with_context(|| format!("start {}", binary.display()))?;
    if !status.success() {
        bail!(
            "{status}; see the results of failed rows, if any, in {}",
            programs.with_file_name("faults").display()
        );
    }
    Ok(())
}
