//! Records the compiler, the target and the profile of the benchmarks, because the figures depend on them.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    #[expect(clippy::disallowed_methods, reason = "a build script starts only the compiler")]
    let version = Command::new(compiler).arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.as_deref().map_or("rustc unknown", str::trim);
    println!("cargo::rustc-env=HAFT_BENCH_RUSTC={version}");
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=HAFT_BENCH_TARGET={target}");
    // The name of the profile is taken from `<profile>/build/<package>/out`; cargo's variable names only the base
    // profile.
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let profile = out.ancestors().nth(3).and_then(|folder| folder.file_name()).and_then(OsStr::to_str);
    println!("cargo::rustc-env=HAFT_BENCH_PROFILE={}", profile.unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=build.rs");
}
