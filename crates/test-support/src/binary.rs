//! Finding a binary of this crate from the tests of another one.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The absolute path of a binary of this crate, for example `misbehave`; built first when it is missing or older
/// than its source, because Cargo does not build the binaries of a dependency.
///
/// # Panics
/// When it cannot be built.
pub fn bin(name: &str) -> PathBuf {
    let profile = profile_dir();
    let path = profile.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin").join(name);
    if changed(&path) < newest(&sources) {
        build(name, &profile);
    }
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// `target/debug` or `target/release`: where the test that runs was built.
fn profile_dir() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let deps = test.parent().expect("a test lies in a directory");
    deps.parent().expect("target/<profile>/deps").to_owned()
}

/// When the last of the files in a directory changed.
fn newest(dir: &Path) -> SystemTime {
    let files = dir.read_dir().into_iter().flatten().flatten().map(|entry| changed(&entry.path()));
    files.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// When a file last changed; the beginning of time when there is none.
fn changed(path: &Path) -> SystemTime {
    path.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[expect(clippy::disallowed_methods, reason = "runs Cargo, which is no extension and no tool")]
fn build(name: &str, profile: &Path) {
    let target = profile.parent().expect("target/<profile>");
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "haft-test-support", "--bin", name, "--target-dir"]);
    cargo.arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("Cargo runs");
    assert!(status.success(), "{name} cannot be built");
}
