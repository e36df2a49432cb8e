//! Finding a binary of this crate from the tests of another one.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The absolute path of a binary of this crate, for example `misbehave`; built first when it is missing or older
/// than its source, because Cargo does not build the binaries of a dependency.
///
/// # Panics
/// When it cannot be built.
pub fn test_binary(name: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin").join(name);
    ensure_built("haft-test-support", name, newest_change(&sources))
}

/// The absolute path of `haft-launcher`, built first when it is missing or older than its sources.
///
/// # Panics
/// When it cannot be built.
pub fn launcher_path() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../launch/src");
    ensure_built("haft-launch", "haft-launcher", newest_change(&sources))
}

/// The absolute path of the binary of an example hook, built first when it is missing or older than its sources or those
/// of the SDK.
///
/// # Panics
/// When it cannot be built.
pub fn example_hook(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = root.join("examples/hooks").join(name).join("src");
    let sources = [own, root.join("crates/sdk/src"), root.join("crates/protocol/src")];
    let changed_at = sources.iter().map(|dir| newest_change(dir)).max().unwrap_or(SystemTime::UNIX_EPOCH);
    ensure_built(&format!("haft-example-{name}"), name, changed_at)
}

/// The absolute path of the binary of an example extension, built as that of an example hook is.
///
/// # Panics
/// When it cannot be built.
pub fn example_extension(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = root.join("examples/extensions").join(name).join("src");
    let sources = [own, root.join("crates/sdk/src"), root.join("crates/protocol/src")];
    let changed_at = sources.iter().map(|dir| newest_change(dir)).max().unwrap_or(SystemTime::UNIX_EPOCH);
    ensure_built(&format!("haft-example-{name}"), name, changed_at)
}

/// The absolute path of an example of a package; built first when it is missing or older than what lies in these
/// directories of the workspace.
///
/// # Panics
/// When it cannot be built.
pub fn example_path(package: &str, name: &str, sources: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let changed_at = sources.iter().map(|source| newest_change(&root.join(source))).max();
    built_as("--example", package, name, changed_at.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// The path of a package's binary, which must not be older than this.
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

/// When a file below a directory last changed.
fn newest_change(dir: &Path) -> SystemTime {
    let entries = std::fs::read_dir(dir).expect("sources can be listed").flatten();
    let times = entries.map(|entry| entry.path()).map(|path| match path.is_dir() {
        true => newest_change(&path),
        false => change_time(&path),
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// `target/debug` or `target/release`: where the test that runs was built.
fn profile_dir() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let deps = test.parent().expect("a test lies in a directory");
    deps.parent().expect("target/<profile>/deps").to_owned()
}

/// When a file last changed; the beginning of time when there is none.
fn change_time(path: &Path) -> SystemTime {
    path.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[expect(clippy::disallowed_methods, reason = "runs Cargo, which is no extension and no tool")]
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
