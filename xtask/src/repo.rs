//! The repository as files and as programs to run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A file of the repository, read as text.
#[derive(Debug)]
pub struct RepoFile {
    /// Relative to the root, with forward slashes.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// Where the repository lies.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// A program, to be run in the root.
pub fn command(program: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "chores run programs and no extensions")]
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Cargo itself: the one that runs this program.
pub fn cargo() -> Command {
    let mut cargo = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    // What `cargo run` tells this program about its package would reach build scripts, and those that look at it would run
    // again, with all that depends on them.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// `cargo metadata` of the workspace.
pub fn cargo_metadata() -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("read cargo metadata")
}

/// True if cargo has the subcommand.
pub fn has_subcommand(name: &str) -> bool {
    let version = cargo().args([name, "--version"]).stdin(std::process::Stdio::null()).output();
    version.is_ok_and(|output| output.status.success())
}

/// Returns the path of a binary that was built with a profile.
pub fn built_binary(profile: &str, name: &str) -> Result<PathBuf> {
    Ok(target_dir()?.join(profile).join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// The tag of the last release before what is checked out; none before the first.
pub fn last_release() -> Result<Option<String>> {
    let tags = ["tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort", "-version:refname"];
    let output = command("git").args(tags).output().context("run git tag")?;
    if !output.status.success() {
        bail!("git tag failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned))
}

/// Where cargo builds.
pub fn target_dir() -> Result<PathBuf> {
    let metadata = cargo_metadata()?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata names no target directory")?.into())
}

/// Returns the hash of the protocol's sources. `docs/protocol.md` carries it, so that no frame changes without a look
/// at the document.
pub fn protocol_hash() -> Result<String> {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let files = text_files("crates/protocol/src")?;
    let bytes =
        files.iter().flat_map(|file| [&file.path, "\0", &file.text, "\0"].map(str::as_bytes)).flatten();
    // FNV-1a, 64 bits.
    let hash = bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    Ok(format!("{hash:016x}"))
}

/// All text files below `folder` (relative to the root), sorted by path. Build products and git are left out.
pub fn text_files(folder: &str) -> Result<Vec<RepoFile>> {
    let mut files = Vec::new();
    collect(&root().join(folder), &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The text of one file.
pub fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("read {path}"))
}

/// Folders that hold nothing a person wrote.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", "__pycache__"];

fn collect(folder: &Path, files: &mut Vec<RepoFile>) -> Result<()> {
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
            files.extend(fs::read_to_string(&path).ok().map(|text| RepoFile { path: relative, text }));
        }
    }
    Ok(())
}
