//! The repository as files and as programs to run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A file of the repository, read as text.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Where the repository lies.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// A program, to be run in the root.
pub(crate) fn command(program: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "chores run programs and no extensions")]
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Cargo itself: the one that runs this program.
pub(crate) fn cargo() -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
}

/// `cargo metadata` of the workspace.
pub(crate) fn metadata() -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("read cargo metadata")
}

/// The tag of the last release before what is checked out; none before the first.
pub(crate) fn last_release() -> Result<Option<String>> {
    let tags = ["tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort", "-version:refname"];
    let output = command("git").args(tags).output().context("run git tag")?;
    if !output.status.success() {
        bail!("git tag failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned))
}

/// Where cargo builds.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = metadata()?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata names no target directory")?.into())
}

/// All text files below `folder` (relative to the root), sorted by path. Build products and git are left out.
pub(crate) fn files(folder: &str) -> Result<Vec<File>> {
    let mut files = Vec::new();
    collect(&root().join(folder), &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The text of one file.
pub(crate) fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("read {path}"))
}

/// Folders that hold nothing a person wrote.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", "__pycache__"];

fn collect(folder: &Path, files: &mut Vec<File>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let skipped = SKIPPED.iter().any(|name| *name == entry.file_name());
        if kind.is_dir() && !skipped {
            collect(&path, files)?;
        } else if kind.is_file() && !skipped {
            let relative = path.strip_prefix(root())?.to_string_lossy().replace('\\', "/");
            // What is not UTF-8 is an image or the like.
            files.extend(fs::read_to_string(&path).ok().map(|text| File { path: relative, text }));
        }
    }
    Ok(())
}
