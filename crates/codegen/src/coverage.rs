//! `docs/coverage.md`: each call, hook, event, registration and mirrored part of the extension protocol, the method of
//! the Rust SDK for it, and a test that used it.
//!
//! Tests list what they use in files below `target/tmp/coverage`, one for each test, so the page names only tests that
//! ran: `cargo nextest run -p haft --test it e2e` writes all of them.

mod records;
mod registry;
mod sdk_methods;
mod wolli;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Result, bail};
use xtask::repo;

use crate::outputs::{GeneratedFile, RunMode, write_outputs};
use records::TestRecords;
use registry::{RegistryLine, RegistryPart};
use sdk_methods::SdkMethods;

/// The page.
const PATH: &str = "docs/coverage.md";

const HEAD: &str = "# Coverage of the extension protocol

This page lists every part of the [extension protocol](protocol.md) that an extension can use: the method of the Rust SDK
for it, and a test in which an extension in Python uses it in a run of the program, over the bare protocol. The names of
tests are those in `crates/cli/tests/it`. `cargo xtask coverage` writes this page from what the tests recorded, and fails
if a part has no method or no test.
";

/// Brings the page up to date with the tests that ran.
///
/// # Errors
/// When a part of the protocol has no method in the SDK or no test, and, in a check, when the page is out of date.
pub(crate) fn run(mode: RunMode) -> Result<()> {
    let records = TestRecords::read(&repo::target_dir()?.join("tmp/coverage"))?;
    let methods = SdkMethods::read()?;
    let committed = repo::read(PATH).unwrap_or_default();
    let mut page =
        CoveragePage { text: HEAD.to_owned(), faults: Vec::new(), chosen: chosen_tests(&committed) };
    for part in RegistryPart::ALL {
        page.add_part(part, &records, &methods)?;
    }
    page.text.push_str(&wolli::members_table()?);
    if !page.faults.is_empty() {
        bail!("{}", page.faults.join("\n"));
    }
    write_outputs(mode, &[GeneratedFile { path: PATH, text: page.text }], "cargo xtask coverage")
}

/// The page while it is made.
struct CoveragePage {
    text: String,
    /// Parts without a method or without a test.
    faults: Vec<String>,
    /// The tests on the page so far, by the line that they stand on. They stay as long as they use the part.
    chosen: BTreeMap<String, String>,
}

impl CoveragePage {
    fn add_part(&mut self, part: &RegistryPart, records: &TestRecords, methods: &SdkMethods) -> Result<()> {
        write!(self.text, "\n## {}\n\n{}\n\n", part.title, part.intro)?;
        write!(self.text, "| {} | Rust | Test |\n|---|---|---|\n", part.column)?;
        for line in part.lines() {
            let method = methods.find_method(&line);
            let test = self.choose_test(&line, records);
            if method.is_none() {
                self.faults
                    .push(format!("no method of the SDK for {line}: name it so, or add #[doc(alias)]"));
            }
            if test.is_none() {
                self.faults.push(format!("no test uses {line}: add it to crates/cli/tests/it/e2e/surface"));
            }
            let (method, test) = (method.unwrap_or_default(), test.unwrap_or_default());
            writeln!(self.text, "| `{}` | `{method}` | `{test}` |", line.name)?;
        }
        Ok(())
    }

    /// Returns the test that stands on the page if it still uses the part, or the first one that does.
    fn choose_test(&self, line: &RegistryLine, records: &TestRecords) -> Option<String> {
        let tests = records.tests_of(line)?;
        let kept = self.chosen.get(&line.to_string()).filter(|test| tests.contains(*test));
        kept.or_else(|| tests.first()).cloned()
    }
}

/// Returns the tests that stand on a page, by the line that they stand on.
fn chosen_tests(page: &str) -> BTreeMap<String, String> {
    let mut chosen = BTreeMap::new();
    let mut kind = "";
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            let part = RegistryPart::ALL.iter().find(|part| part.title == title);
            kind = part.map_or("", |part| part.kind);
        }
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        if let ["", name, _, test, ""] = cells[..] {
            chosen.insert(format!("{kind} {name}"), test.to_owned());
        }
    }
    chosen
}
