//! The page `docs/from-wolli.md` shows the tested examples.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{EXAMPLES, Language, asking, python_dir, rust_dir, sessions, state};

const PAGE: &str = include_str!("../../../../../../docs/from-wolli.md");

/// Returns the names of the files in a directory, without their ending.
fn stems(dir: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

/// Returns the code blocks of the page in one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    PAGE.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Returns the functions with which the programs in Python begin.
pub(super) fn python_helpers() -> &'static str {
    blocks("python")[0]
}

/// Removes white space and the commas that rustfmt adds with it.
fn without_layout(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    text.replace(",}", "}").replace(",)", ")")
}

#[test]
fn every_example_has_two_files_and_a_block() {
    let names: BTreeSet<String> = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(stems(&python_dir()), names);
    let mut modules = stems(&rust_dir());
    modules.remove("main");
    assert_eq!(modules, names);
    assert!(EXAMPLES.iter().all(|(_, lines)| !lines.is_empty()));
}

#[test]
fn blocks_of_the_page_are_tested_files() {
    let (python, rust) = (blocks("python").split_off(1), blocks("rust"));
    let mut shown = Vec::new();
    for (blocks, dir, ending) in [(python, python_dir(), "py"), (rust, rust_dir(), "rs")] {
        let files = EXAMPLES.iter().map(|(name, _)| {
            let text = fs::read_to_string(dir.join(format!("{name}.{ending}"))).unwrap();
            (*name, without_layout(&text))
        });
        let files: Vec<_> = files.collect();
        let of = |block: &&str| {
            let block = without_layout(block);
            let file = files.iter().find(|(_, text)| text.contains(&block));
            file.map(|(name, _)| *name).unwrap_or_else(|| panic!("no example contains {block}"))
        };
        shown.push(blocks.iter().map(of).collect::<Vec<_>>());
    }
    assert!(shown[0].len() > 5, "{shown:?}");
    assert_eq!(shown[0], shown[1], "each block in Python is followed by its example in Rust");
}

#[test]
fn programs_run_with_the_helpers_of_the_page() {
    asking::gate_blocks_without_a_person(Language::PythonOfPage);
    sessions::chat_keeps_its_session(Language::PythonOfPage);
    state::todos_are_rebuilt_from_results(Language::PythonOfPage);
}
