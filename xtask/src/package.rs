//! The crates that a release publishes: their metadata, and a publication without an upload.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::{ci, repo};

/// The libraries that other programs use.
const LIBRARIES: [&str; 5] = ["haft-core", "haft-host", "haft-protocol", "haft-providers", "haft-sdk"];

/// The fields of `cargo metadata` that every published crate sets.
const FIELDS: [&str; 7] =
    ["description", "license", "repository", "readme", "rust_version", "keywords", "categories"];

/// The most keywords and categories that crates.io accepts.
const MOST_WORDS: usize = 5;

/// The file with the notes of each version.
const CHANGELOG: &str = "CHANGELOG.md";

/// A part of the repository's address that must not be in a release.
const PLACEHOLDER: &str = "not--published";

/// Packages all published crates, compiles each package outside of the workspace, and uploads nothing.
///
/// # Errors
/// If a crate lacks metadata, or its package does not compile.
pub(crate) fn run() -> Result<()> {
    let metadata = repo::cargo_metadata()?;
    let mut findings = find_problems(&metadata);
    findings.extend(missing_notes(&repo::read(CHANGELOG)?, &metadata));
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    let target = repo::target_dir()?.join("packaging");
    // Uncommitted changes may be tried as well. Nobody debugs what is built here.
    let args = ["publish", "--workspace", "--dry-run", "--locked", "--allow-dirty"];
    let mut cargo = repo::cargo();
    cargo.args(args).env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", "0");
    ci::finish(&mut cargo, &args.join(" "))?;
    if metadata.to_string().contains(PLACEHOLDER) {
        println!("note: before a release, set `repository` in Cargo.toml; see docs/releasing.md");
    }
    Ok(())
}

/// Returns the published crates with missing metadata, and the libraries that are not published.
pub(crate) fn find_problems(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let published: Vec<&Value> = packages.iter().filter(|package| package["publish"].is_null()).collect();
    let mut findings: Vec<String> = LIBRARIES
        .iter()
        .filter(|name| !published.iter().any(|package| package["name"] == **name))
        .map(|name| format!("{name}: not published"))
        .collect();
    for package in &published {
        let name = package["name"].as_str().unwrap_or_default();
        findings.extend(missing_fields(package).map(|field| format!("{name}: no `{field}` in Cargo.toml")));
    }
    findings
}

/// Returns the problem of a changelog without a section for the version of the libraries, from which `dist` takes the
/// notes of a release.
fn missing_notes(changelog: &str, metadata: &Value) -> Option<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let version =
        packages.filter(|package| package["name"] == LIBRARIES[0]).find_map(|it| it["version"].as_str());
    let heading = format!("## [{}] - ", version.unwrap_or_default());
    let is_there = changelog.lines().any(|line| line.starts_with(&heading));
    (!is_there).then(|| format!("{CHANGELOG}: no section `{heading}`"))
}

fn missing_fields(package: &Value) -> impl Iterator<Item = &'static str> {
    FIELDS.into_iter().filter(move |field| match &package[*field] {
        Value::String(text) => text.is_empty(),
        Value::Array(words) => words.is_empty() || words.len() > MOST_WORDS,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn published_crates_describe_themselves() {
        let library = |name: &str| {
            json!({
                "name": name, "publish": null, "description": "Text", "license": "MIT", "readme": "README.md",
                "repository": "https://example.com", "rust_version": "1.95", "keywords": ["a"],
                "categories": ["os"],
            })
        };
        let mut packages: Vec<Value> = LIBRARIES.into_iter().map(library).collect();
        packages.push(json!({ "name": "private", "publish": [] }));
        let check = |packages: &[Value]| find_problems(&json!({ "packages": packages }));
        assert_eq!(check(&packages), [] as [&str; 0]);
        packages[0]["readme"] = Value::Null;
        packages[0]["keywords"] = json!(["a", "b", "c", "d", "e", "f"]);
        packages[1]["publish"] = json!([]);
        assert_eq!(
            check(&packages),
            [
                "haft-host: not published",
                "haft-core: no `readme` in Cargo.toml",
                "haft-core: no `keywords` in Cargo.toml",
            ]
        );
    }

    #[test]
    fn changelog_has_section_of_the_version() {
        let metadata = json!({ "packages": [{ "name": "haft-core", "version": "0.2.0" }] });
        assert_eq!(missing_notes("# Changelog\n\n## [0.2.0] - 2026-12-01\n", &metadata), None);
        let missing = missing_notes("# Changelog\n\n## [Unreleased]\n", &metadata).unwrap();
        assert_eq!(missing, "CHANGELOG.md: no section `## [0.2.0] - `");
    }
}
