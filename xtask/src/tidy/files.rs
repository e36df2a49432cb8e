//! Checks of files: required files, lengths, and first lines.

use std::collections::BTreeSet;

use crate::repo::RepoFile;

/// Files that a visitor expects.
const PAPERS: &[&str] =
    &["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The maximum length of a source file in lines. Split a longer file by extracting a type with its own state.
const MAX_LINES: usize = 800;

pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    let mut findings = missing_documents(files);
    findings.extend(forgotten_tests(files));
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        findings.extend(check_source(file));
    }
    findings
}

fn missing_documents(files: &[RepoFile]) -> Vec<String> {
    let missing = PAPERS.iter().filter(|paper| !files.iter().any(|file| file.path == **paper));
    missing.map(|paper| format!("{paper}: missing")).collect()
}

fn check_source(RepoFile { path, text }: &RepoFile) -> Vec<String> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        findings.push(format!("{path}: begin with `//!` and describe the purpose of the file"));
    }
    if path.ends_with("/mod.rs") {
        findings.push(format!("{path}: name the file after its module, beside the folder"));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        findings
            .push(format!("{path}: {lines} lines, more than {MAX_LINES}; extract a type into another file"));
    }
    findings
}

/// Returns files beside a `tests/it/main.rs` that are not modules of it, so that their tests never run.
fn forgotten_tests(files: &[RepoFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for main in files.iter().filter(|file| file.path.ends_with("tests/it/main.rs")) {
        let folder = main.path.trim_end_matches("main.rs");
        let declared: BTreeSet<&str> = main
            .text
            .lines()
            .filter_map(|line| line.trim_start_matches("pub(crate) ").strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        let beside = files.iter().filter_map(|file| file.path.strip_prefix(folder)?.strip_suffix(".rs"));
        let forgotten =
            beside.filter(|name| *name != "main" && !name.contains('/') && !declared.contains(name));
        findings.extend(forgotten.map(|name| format!("{folder}{name}.rs: no `mod {name};` in main.rs")));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_one(path: &str, text: &str, expect: &[&str]) {
        let file = RepoFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(check_source(&file), expect);
    }

    #[test]
    fn checks_names_first_lines_and_lengths() {
        check_one("a/src/b.rs", "//! B.\n", &[]);
        check_one(
            "a/src/b.rs",
            "use b;\n",
            &["a/src/b.rs: begin with `//!` and describe the purpose of the file"],
        );
        check_one("a/mod.rs", "//! A.", &["a/mod.rs: name the file after its module, beside the folder"]);
        check_one(
            "a.rs",
            &"//!\n".repeat(801),
            &["a.rs: 801 lines, more than 800; extract a type into another file"],
        );
    }

    #[test]
    fn finds_test_file_that_is_not_a_module() {
        let file = |path: &str, text: &str| RepoFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("c/tests/it/main.rs", "//! It.\n\nmod used;\n"),
            file("c/tests/it/used.rs", ""),
            file("c/tests/it/used/part.rs", ""),
            file("c/tests/it/lost.rs", ""),
        ];
        assert_eq!(forgotten_tests(&files), ["c/tests/it/lost.rs: no `mod lost;` in main.rs"]);
    }
}
