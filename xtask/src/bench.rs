//! Runs the benchmarks, and builds the programs that they start. `docs/benchmarks.md` describes the rows and the
//! gates.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{ci, repo};

/// Builds every program that a row starts.
const ALL: &str = "build --release -p haft -p haft-bench -p haft-example-guard --bins";

/// The gated lines and the counts start only the benchmark's own binary.
const OWN: &str = "build --release -p haft-bench --bins";

/// The profile of the counts and of the ratios that are only printed: `release` without link-time optimization, with
/// `opt-level = 2`.
const FAST_PROFILE: &str = "bench-fast";

/// The revision to compare with.
#[derive(Debug, PartialEq, Eq)]
struct BaseRevision {
    commit: String,
    /// The reason for this choice, as a noun.
    reason: &'static str,
}

/// Builds the programs, and passes the arguments to the benchmark's binary.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    match *args {
        ["gate", ref options @ ..] if !options.contains(&"--report") => run_gate(options),
        ["gate" | "counts", ..] => {
            build(&format!("build --profile {FAST_PROFILE} -p haft-bench --bins"))?;
            run_bench(&repo::target_dir()?.join(FAST_PROFILE), args)
        }
        _ => {
            build(ALL)?;
            run_bench(&repo::target_dir()?.join("release"), args)
        }
    }
}

/// Compares the gated lines with those of another revision, which is built and run alternately.
fn run_gate(options: &[&str]) -> Result<()> {
    let (base, rest) = match *options {
        ["--against", revision, ref rest @ ..] | [ref rest @ .., "--against", revision] => {
            let commit = git_output(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")])?;
            let commit = commit.with_context(|| format!("no such revision: {revision}"))?;
            (Some(BaseRevision { commit, reason: "as asked" }), rest)
        }
        ref rest => (default_base()?, rest),
    };
    let Some(BaseRevision { commit, reason }) = base else {
        println!("SKIP gate: no release, no main branch and no parent to compare with");
        return Ok(());
    };
    println!("base: {commit}, {reason}");
    let folder = check_out(&commit)?;
    let target = folder.join("target");
    let mut command = repo::cargo();
    command.args(OWN.split(' ')).arg("--target-dir").arg(&target).current_dir(&folder);
    ci::finish(&mut command, OWN).with_context(|| format!("build the base in {}", folder.display()))?;
    build(OWN)?;
    let base = bench_binary(&target.join("release"));
    let mut args = vec!["gate", "--against", base.to_str().context("the path of the base is not UTF-8")?];
    args.extend(rest);
    run_bench(&repo::target_dir()?.join("release"), &args)
}

/// Checks the commit out in a separate worktree, and returns its directory.
fn check_out(commit: &str) -> Result<PathBuf> {
    let folder = repo::target_dir()?.join("base").join(commit);
    if !folder.join("Cargo.toml").is_file() {
        let mut command = repo::command("git");
        // Forced, because a worktree that `cargo clean` removed is still registered.
        command.args(["worktree", "add", "--quiet", "--force", "--detach"]).arg(&folder).arg(commit);
        let status = command.status().context("run git worktree")?;
        if !status.success() {
            bail!("git worktree add {}: {status}", folder.display());
        }
    }
    Ok(folder)
}

/// Returns the last release, otherwise the merge base with the main branch, otherwise the parent.
fn default_base() -> Result<Option<BaseRevision>> {
    let commit = |revision: &str| git_output(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")]);
    let Some(head) = commit("HEAD")? else { return Ok(None) };
    let release = repo::last_release()?.map_or(Ok(None), |tag| commit(&tag))?;
    let merge_base = match git_output(&["merge-base", "HEAD", "main"])? {
        Some(commit) => Some(commit),
        None => git_output(&["merge-base", "HEAD", "origin/main"])?,
    };
    Ok(choose_base(&head, release, merge_base, commit("HEAD~1")?))
}

fn choose_base(
    head: &str,
    release: Option<String>,
    merge_base: Option<String>,
    parent: Option<String>,
) -> Option<BaseRevision> {
    let candidates = [(release, "the last release"), (merge_base, "the merge base with main")];
    let chosen = candidates.into_iter().find_map(|(commit, reason)| Some((commit?, reason)));
    match chosen {
        Some((commit, reason)) if commit != head => Some(BaseRevision { commit, reason }),
        _ => parent.map(|commit| BaseRevision { commit, reason: "the parent" }),
    }
}

/// Returns the output of git without the newline, or `None` if git fails.
fn git_output(args: &[&str]) -> Result<Option<String>> {
    let output = repo::command("git").args(args).output().context("run git")?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(text))
}

fn build(args: &str) -> Result<()> {
    ci::cargo_run(&args.split(' ').collect::<Vec<_>>())
}

fn bench_binary(folder: &Path) -> PathBuf {
    folder.join(format!("haft-bench{}", std::env::consts::EXE_SUFFIX))
}

/// Runs the benchmark's binary in this directory.
fn run_bench(folder: &Path, args: &[&str]) -> Result<()> {
    let binary = bench_binary(folder);
    let status = repo::command(&binary.to_string_lossy())
        .args(args)
        .status()
        .with_context(|| format!("start {}", binary.display()))?;
    if !status.success() {
        bail!("haft-bench {}: {status}", args.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_is_release_or_merge_base_or_parent() {
        let check = |release: &str, merge_base: &str, expect: Option<(&str, &'static str)>| {
            let commit = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let chosen = choose_base("head", commit(release), commit(merge_base), commit("parent"));
            let expect = expect.map(|(commit, reason)| BaseRevision { commit: commit.to_owned(), reason });
            assert_eq!(chosen, expect, "{release} {merge_base}");
        };
        check("release", "main", Some(("release", "the last release")));
        check("", "main", Some(("main", "the merge base with main")));
        check("", "head", Some(("parent", "the parent")));
        check("head", "main", Some(("parent", "the parent")));
        check("", "", Some(("parent", "the parent")));
        assert_eq!(choose_base("head", None, Some("head".to_owned()), None), None);
    }
}
