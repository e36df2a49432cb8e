//! Finds and builds binaries of this workspace for tests of other crates.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Returns the absolute path of a binary of this crate, for example `misbehave`. The binary is built first if it is
/// missing or older than its source, because Cargo does not build the binaries of a dependency.
///
/// # Panics
/// Panics if the binary cannot be built.
pub fn test_binary(name: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin").join(name);
    ensure_built("haft-test-support", name, newest_change(&sources))
}

/// Returns the absolute path of a launcher. The program is built first if it is missing or older than its sources.
///
/// # Panics
/// Panics if the program cannot be built.
pub fn launcher_path() -> PathBuf {
    example_path("haft-launch", "launcher", &["crates/launch/src"])
}

/// Returns the absolute path of the binary of an example hook. The binary is built first if it is missing or older than
/// its sources or those of its libraries.
///
/// # Panics
/// Panics if the binary cannot be built.
pub fn example_hook(name: &str) -> PathBuf {
    sdk_program(&format!("examples/hooks/{name}"), &format!("haft-example-{name}"), name)
}

/// Returns the absolute path of the binary of an example extension, built like an example hook.
///
/// # Panics
/// Panics if the binary cannot be built.
pub fn example_extension(name: &str) -> PathBuf {
    sdk_program(&format!("examples/extensions/{name}"), &format!("haft-example-{name}"), name)
}

/// Returns the absolute path of the program with the extensions of `docs/from-wolli.md`, built like an example hook.
///
/// # Panics
/// Panics if the program cannot be built.
pub fn wolli_examples() -> PathBuf {
    sdk_program("examples/wolli", "haft-example-wolli", "wolli-examples")
}

/// Returns the path of a binary that uses the SDK, from a package in this directory of the workspace.
fn sdk_program(directory: &str, package: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = [
        &format!("{directory}/src"),
        "crates/adapters/picoclaw/src",
        "crates/sdk/src",
        "crates/protocol/src",
    ];
    let changed_at = sources.iter().map(|source| newest_change(&root.join(source))).max();
    ensure_built(package, name, changed_at.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// Returns the absolute path of an example of a package. The example is built first if it is missing or older than the
/// files in these directories of the workspace.
///
/// # Panics
/// Panics if the example cannot be built.
pub fn example_path(package: &str, name: &str, sources: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let changed_at = sources.iter().map(|source| newest_change(&root.join(source))).max();
    built_as("--example", package, name, changed_at.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// Returns the path of a package's binary, built first if it is older than `changed_at`.
fn ensure_built(package: &str, name: &str, changed_at: SystemTime) -> PathBuf {
    built_as("--bin", package, name, changed_at)
}

fn built_as(kind: &str, package: &str, name: &str, changed_at: SystemTime) -> PathBuf {
    let profile = profile_dir();
    let directory = if kind == "--example" { profile.join("examples") } else { profile.clone() };
    let path = directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if change_time(&path) < changed_at {
        build(kind, package, name, &profile);
    }
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// Returns the time of the newest change below a directory.
fn newest_change(dir: &Path) -> SystemTime {
    let entries = std::fs::read_dir(dir).expect("sources can be listed").flatten();
    let times = entries.map(|entry| entry.path()).map(|path| match path.is_dir() {
        true => newest_change(&path),
        false => change_time(&path),
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns `target/debug` or `target/release`, depending on the build of the running test.
fn profile_dir() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let deps = test.parent().expect("a test lies in a directory");
    deps.parent().expect("target/<profile>/deps").to_owned()
}

/// Returns the time of a file's last change, or the epoch if the file does not exist.
fn change_time(path: &Path) -> SystemTime {
    path.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[expect(clippy::disallowed_methods, reason = "runs Cargo, which is neither an extension nor a tool")]
fn build(kind: &str, package: &str, name: &str, profile: &Path) {
    let target = profile.parent().expect("target/<profile>");
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", package, kind, name, "--target-dir"]);
    cargo.arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("Cargo runs");
    assert!(status.success(), "{name} cannot be built");
}
