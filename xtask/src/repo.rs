//! The files of the repository, and programs that run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A text file of the repository.
#[derive(Debug)]
pub struct RepoFile {
    /// The path relative to the root, with forward slashes.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Returns a command that runs in the root.
pub fn command(program: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "xtask runs programs, not extensions")]
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Returns the cargo that runs this program.
pub fn cargo() -> Command {
    let mut cargo = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    // `cargo run` sets variables for this program's package. If they reached build scripts that depend on them, these
    // scripts and all dependent packages would be built again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Returns `cargo metadata` of the workspace.
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

/// True if a program is installed that answers `--version`.
pub fn has_program(name: &str) -> bool {
    let output = command(name).arg("--version").stdin(std::process::Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

/// True if the standard library of a target is installed.
pub fn has_target(target: &str) -> Result<bool> {
    let output = command("rustc").args(["--print", "sysroot"]).output().context("run rustc")?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(sysroot.join("lib/rustlib").join(target).join("lib").is_dir())
}

/// Returns the path of a binary that was built with a profile.
pub fn built_binary(profile: &str, name: &str) -> Result<PathBuf> {
    Ok(target_dir()?.join(profile).join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Returns the tag of the last release before `HEAD`, or `None` before the first release.
pub fn last_release() -> Result<Option<String>> {
    let tags = ["tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort", "-version:refname"];
    let output = command("git").args(tags).output().context("run git tag")?;
    if !output.status.success() {
        bail!("git tag failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned))
}

/// Returns cargo's target directory.
pub fn target_dir() -> Result<PathBuf> {
    let metadata = cargo_metadata()?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata has no target directory")?.into())
}

/// Returns the hash of the protocol's sources. `docs/protocol.md` contains it, so that each change of a frame
/// requires a review of the document.
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

/// Returns all text files below `folder` (relative to the root), sorted by path, without build products and git's
/// files.
pub fn text_files(folder: &str) -> Result<Vec<RepoFile>> {
    let mut files = Vec::new();
    collect(&root().join(folder), &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns the text of a file.
pub fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("read {path}"))
}

/// Folders without files written by a person.
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
            // Files that are not UTF-8 are images and the like.
            files.extend(fs::read_to_string(&path).ok().map(|text| RepoFile { path: relative, text }));
        }
    }
    Ok(())
}
