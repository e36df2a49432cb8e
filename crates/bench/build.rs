//! Notes which compiler builds the benchmarks: their figures mean little without.

use std::process::Command;

fn main() {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    #[expect(clippy::disallowed_methods, reason = "a build script starts the compiler, nothing of haft's")]
    let version = Command::new(compiler).arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.as_deref().map_or("rustc unknown", str::trim);
    println!("cargo::rustc-env=HAFT_BENCH_RUSTC={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
