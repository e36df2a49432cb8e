//! The plan of `dist`: the release workflow, the contents of the archives, and the targets.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{archive, ci, repo};

/// The configuration of `dist`.
const CONFIG: &str = "dist-workspace.toml";

/// Compares the workflow with `dist-workspace.toml`, and the planned archives for Linux with those of
/// `cargo xtask archive`.
///
/// # Errors
/// If they differ, or if `dist` rejects its configuration.
pub(crate) fn run() -> Result<()> {
    if !repo::has_program("dist") {
        println!("SKIP dist: not installed; run `cargo install --locked cargo-dist`");
        return Ok(());
    }
    run_dist(&["generate", "--check"])?;
    let plan = run_dist(&["plan", "--output-format=json"])?;
    let plan: Value = serde_json::from_str(&plan).context("read the plan")?;
    let findings = find_problems(&plan);
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    let archives: Vec<&str> = planned_archives(&plan).map(|(name, _)| name).collect();
    println!("{} archives: {}", archives.len(), archives.join(", "));
    Ok(())
}

/// Compiles haft for each target of a release, as far as that needs no foreign C compiler and no linker.
///
/// # Errors
/// If haft does not compile for an installed target.
pub(crate) fn check_targets() -> Result<()> {
    for target in release_targets(&repo::read(CONFIG)?) {
        if !repo::has_target(target)? {
            println!("SKIP {target}: run `rustup target add {target}`");
            continue;
        }
        let args = ["check", "--locked", "--package", "haft", "--target", target];
        println!("==> cargo {}", args.join(" "));
        let mut cargo = repo::cargo();
        // Nothing is linked, so nothing reads what a C compiler and an archiver would write.
        let name = target.replace('-', "_");
        cargo.env(format!("CC_{name}"), "true");
        cargo.env(format!("AR_{name}"), repo::root().join("xtask/no-archiver.sh"));
        // Each of them builds all dependencies, which is of no use to other builds.
        cargo.env("CARGO_TARGET_DIR", repo::target_dir()?.join("targets"));
        ci::finish(cargo.args(args), &args.join(" "))?;
    }
    Ok(())
}

/// Returns the targets in the configuration of `dist`, which has one on each line.
fn release_targets(config: &str) -> impl Iterator<Item = &str> {
    let lines = config.lines().skip_while(|line| *line != "targets = [").skip(1);
    lines.take_while(|line| *line != "]").map(|line| line.trim_matches([' ', '"', ',']))
}

/// Returns the archives whose contents differ from those of `cargo xtask archive`.
fn find_problems(plan: &Value) -> Vec<String> {
    let expected: BTreeSet<&str> = archive::CONTENTS.into_iter().collect();
    let mut findings = Vec::new();
    let mut count = 0;
    for (name, archive) in planned_archives(plan) {
        count += 1;
        let assets = archive["assets"].as_array().into_iter().flatten();
        let paths = assets.filter_map(|asset| asset["path"].as_str());
        let planned: BTreeSet<&str> = paths.map(|path| path.trim_end_matches(".exe")).collect();
        if planned != expected {
            findings.push(format!("{name}: {planned:?} instead of {expected:?}"));
        }
    }
    if count == 0 {
        findings.push("the plan has no archives".to_owned());
    }
    findings
}

fn planned_archives(plan: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let artifacts = plan["artifacts"].as_object().into_iter().flatten();
    artifacts
        .filter(|(_, artifact)| artifact["kind"] == "executable-zip")
        .map(|(name, artifact)| (name.as_str(), artifact))
}

fn run_dist(args: &[&str]) -> Result<String> {
    let output = repo::command("dist").args(args).output().context("start dist")?;
    if !output.status.success() {
        bail!("dist {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("read the output of dist")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_archives_with_other_contents() {
        let plan = |names: &[&str]| {
            let assets: Vec<Value> = names.iter().map(|name| json!({ "path": name })).collect();
            json!({ "artifacts": {
                "a.zip": { "kind": "executable-zip", "assets": assets },
                "haft-installer.sh": { "kind": "installer" },
            } })
        };
        let mut names = archive::CONTENTS.to_vec();
        names[5] = "haft.exe";
        assert_eq!(find_problems(&plan(&names)), [] as [&str; 0]);
        let finding = find_problems(&plan(&names[1..])).join("\n");
        assert!(finding.starts_with("a.zip: {"), "{finding}");
        assert_eq!(find_problems(&json!({ "artifacts": {} })), ["the plan has no archives"]);
    }

    #[test]
    fn release_has_targets() {
        let config = repo::read(CONFIG).unwrap();
        let targets: Vec<&str> = release_targets(&config).collect();
        for target in ["aarch64-unknown-linux-musl", "x86_64-apple-darwin", "x86_64-pc-windows-msvc"] {
            assert!(targets.contains(&target), "{targets:?}");
        }
        assert_eq!(targets.len(), 5);
    }
}
