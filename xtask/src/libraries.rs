//! The dependencies of the libraries that other programs embed: their number, their features, and the time of a first
//! build.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::repo;

/// The page with the number of crates of each library.
const PAGE: &str = "docs/embedding.md";

/// The page whose first program `--build` builds.
const TUTORIAL: &str = "docs/first-embedding.md";

/// A library with some of its features.
struct LibraryBuild {
    package: &'static str,
    /// The features instead of the default ones; `None` for the default ones.
    features: Option<&'static str>,
    /// The most crates that the library may bring with it.
    most: usize,
}

const fn default_build(package: &'static str, most: usize) -> LibraryBuild {
    LibraryBuild { package, features: None, most }
}

const fn build_with(package: &'static str, features: &'static str, most: usize) -> LibraryBuild {
    LibraryBuild { package, features: Some(features), most }
}

/// The libraries and their features. A number may only fall: each crate is built by everybody who uses the library.
const BUILDS: &[LibraryBuild] = &[
    default_build("haft-protocol", 15),
    build_with("haft-protocol", "schema", 21),
    default_build("haft-sdk", 30),
    default_build("haft-core", 45),
    build_with("haft-core", "", 39),
    default_build("haft-providers", 90),
    build_with("haft-providers", "", 45),
    build_with("haft-providers", "anthropic", 90),
    build_with("haft-providers", "openai", 90),
    build_with("haft-providers", "gemini", 90),
    build_with("haft-providers", "ollama", 90),
    default_build("haft-host", 70),
    default_build("haft-tools", 90),
];

/// Features of serde_json that change what all code of a program reads and writes. Only a program may turn them on.
const GLOBAL_FEATURES: [&str; 3] = ["arbitrary_precision", "preserve_order", "unbounded_depth"];

impl LibraryBuild {
    fn feature_args(&self) -> Vec<&'static str> {
        match self.features {
            None => Vec::new(),
            Some(features) => vec!["--no-default-features", "--features", features],
        }
    }

    /// Returns the first cells of the row in [`PAGE`].
    fn row_start(&self) -> String {
        let features = match self.features {
            None => "default".to_owned(),
            Some("") => "none".to_owned(),
            Some(features) => format!("`{features}`"),
        };
        format!("| `{}` | {features} |", self.package)
    }

    /// Returns the lines `name version features` of all crates that a build of the library compiles, without its own.
    fn list_dependencies(&self) -> Result<BTreeSet<String>> {
        let output = repo::cargo()
            .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--no-dedupe"])
            .args(["--format", "{p} {f}", "--package", self.package])
            .args(self.feature_args())
            .output()
            .context("run cargo tree")?;
        if !output.status.success() {
            bail!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let own = |line: &str| line.split(' ').next() == Some(self.package);
        Ok(text.lines().filter(|line| !line.is_empty() && !own(line)).map(str::to_owned).collect())
    }

    fn find_problems(&self, page: &str, dependencies: &BTreeSet<String>) -> Vec<String> {
        let start = self.row_start();
        let crates: BTreeSet<Vec<&str>> =
            dependencies.iter().map(|line| line.split(' ').take(2).collect()).collect();
        let count = crates.len();
        let mut problems = Vec::new();
        if count > self.most {
            problems.push(format!("{start} brings {count} crates, more than {}", self.most));
        }
        let row = format!("{start} {count} |");
        if !page.lines().any(|line| line.starts_with(&row)) {
            problems.push(format!("{PAGE}: no row begins with `{row}`"));
        }
        for line in dependencies.iter().filter(|line| line.starts_with("serde_json ")) {
            let global = GLOBAL_FEATURES.iter().filter(|feature| line.contains(**feature));
            problems.extend(
                global.map(|feature| format!("{start} turns on serde_json/{feature} for the whole program")),
            );
        }
        problems
    }
}

/// Checks the number of crates of each library, and their features.
pub(crate) fn check_dependencies() -> Result<Vec<String>> {
    let page = repo::read(PAGE)?;
    let mut problems = Vec::new();
    for build in BUILDS {
        problems.extend(build.find_problems(&page, &build.list_dependencies()?));
    }
    Ok(problems)
}

/// Compiles each library with each selection of its features; a warning fails.
///
/// # Errors
/// If a library does not compile without a warning.
pub(crate) fn check_features() -> Result<()> {
    for build in BUILDS {
        let args =
            [&["clippy", "--package", build.package][..], &build.feature_args(), &["--", "-D", "warnings"]]
                .concat();
        println!("==> cargo {}", args.join(" "));
        crate::ci::cargo_run(&args)?;
    }
    Ok(())
}

/// Builds the first program of the tutorial from nothing, outside of the workspace, runs it, and prints the time.
///
/// # Errors
/// If the program does not build or run.
pub(crate) fn build_first_program() -> Result<()> {
    let folder = repo::target_dir()?.join("first");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    write_first_program(&folder)?;
    let start = Instant::now();
    run_in(&folder, &["build", "--offline"])?;
    println!("cargo build: {} s", start.elapsed().as_secs());
    run_in(&folder, &["run", "--offline", "--quiet"])
}

fn write_first_program(folder: &Path) -> Result<()> {
    let page = repo::read(TUTORIAL)?;
    let program = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let program = program.with_context(|| format!("{TUTORIAL} has no program"))?;
    let crates = repo::root().join("crates");
    let path = |name: &str| crates.join(name).display().to_string();
    let manifest = format!(
        "[workspace]\n[package]\nname = \"first\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
         haft-core = {{ path = {core:?} }}\n\
         haft-providers = {{ path = {providers:?}, default-features = false }}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\", \"time\"] }}\n",
        core = path("core"),
        providers = path("providers"),
    );
    fs::create_dir_all(folder.join("src")).context("create the folder of the program")?;
    fs::write(folder.join("Cargo.toml"), manifest).context("write Cargo.toml")?;
    fs::write(folder.join("src/main.rs"), program).context("write main.rs")?;
    // The versions that the tests have run with, all of which have been fetched.
    fs::copy(repo::root().join("Cargo.lock"), folder.join("Cargo.lock")).context("copy Cargo.lock")?;
    Ok(())
}

fn run_in(folder: &Path, args: &[&str]) -> Result<()> {
    let mut cargo = repo::cargo();
    cargo.args(args).current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target")).stdin(Stdio::null());
    crate::ci::finish(&mut cargo, &args.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_too_many_crates_old_rows_and_global_features() {
        let build = build_with("haft-core", "", 1);
        let check = |page: &str, lines: &[&str]| {
            build.find_problems(page, &lines.iter().map(|line| (*line).to_owned()).collect())
        };
        let row = "| `haft-core` | none | 1 | text |";
        assert_eq!(check(row, &["serde_json v1 default,raw_value"]), [] as [&str; 0]);
        assert_eq!(check(row, &["serde_json v1 preserve_order"]).len(), 1);
        assert_eq!(check("", &["a v1 "]).len(), 1);
        assert_eq!(check("| `haft-core` | none | 2 |", &["a v1 ", "b v1 "]).len(), 1);
    }

    #[test]
    fn libraries_bring_no_more_crates_than_the_page_says() {
        assert_eq!(check_dependencies().unwrap(), [] as [&str; 0]);
    }
}
