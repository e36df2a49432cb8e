//! `docs/api/CRATE.txt`: the public API of each library that other programs use, one item a line.
//!
//! A change of the API then is a change of a file. The lists leave out what follows from the listed items: implementations
//! of auto traits, blanket implementations, and derived implementations.

use std::path::Path;

use anyhow::{Context, Result, bail};
use xtask::repo;

use crate::outputs::{GeneratedFile, RunMode, write_outputs};

/// The libraries, each with the file of its list.
const LISTS: [(&str, &str); 5] = [
    ("haft-core", "docs/api/haft-core.txt"),
    ("haft-host", "docs/api/haft-host.txt"),
    ("haft-protocol", "docs/api/haft-protocol.txt"),
    ("haft-providers", "docs/api/haft-providers.txt"),
    ("haft-sdk", "docs/api/haft-sdk.txt"),
];

/// Brings the lists up to date, or returns an error that names the outdated ones.
///
/// # Errors
/// If a library does not compile, or, in a check, if a list is out of date.
pub(crate) fn run(mode: RunMode) -> Result<()> {
    // A directory of its own: build scripts notice the variable below, and would rebuild their dependents each time.
    let target = repo::target_dir()?.join("public-api");
    let lists = LISTS
        .into_iter()
        .map(|(package, path)| Ok(GeneratedFile { path, text: list_items(package, &target)? }));
    write_outputs(mode, &lists.collect::<Result<Vec<_>>>()?, "cargo xtask public-api")
}

/// Returns the public items of a library with all its features, one a line.
fn list_items(package: &str, target: &Path) -> Result<String> {
    let output = repo::cargo()
        .args(["rustdoc", "--quiet", "--locked", "--lib", "--all-features", "--package", package])
        .args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"])
        .env("CARGO_TARGET_DIR", target)
        // The output in JSON is unstable. The pinned toolchain and the pinned `public-api` have the same format.
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .context("run cargo rustdoc")?;
    if !output.status.success() {
        bail!("cargo rustdoc of {package}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let json = target.join("doc").join(format!("{}.json", package.replace('-', "_")));
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("read the items of {package}"))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}
