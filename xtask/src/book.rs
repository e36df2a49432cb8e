//! The book of `docs/`: `mdbook` builds it, `typos` checks its spelling, `vale` its style.

use anyhow::{Context, Result, bail};

use crate::repo;

/// A program that checks the pages.
struct Checker {
    program: &'static str,
    args: &'static [&'static str],
    /// The command that installs the program; none for a program that no registry has.
    install: Option<&'static str>,
}

const CHECKERS: &[Checker] = &[
    Checker {
        program: "mdbook",
        args: &["build"],
        install: Some("cargo install --locked mdbook --no-default-features"),
    },
    Checker { program: "typos", args: &["--format", "brief"], install: Some("pip install typos") },
    Checker { program: "vale", args: &["--minAlertLevel=error", "docs", "README.md"], install: None },
];

/// Runs every checker that is installed. `tidy` checks the links.
///
/// # Errors
/// When a checker fails, or when one that has to be there in CI is not installed.
pub(crate) fn run() -> Result<()> {
    let is_ci = std::env::var_os("CI").is_some();
    let mut failed = Vec::new();
    for checker in CHECKERS {
        let program = checker.program;
        if !repo::has_program(program) {
            match checker.install {
                Some(install) if is_ci => bail!("{program} is not installed; run `{install}`"),
                Some(install) => println!("SKIP {program}: not installed; run `{install}`"),
                None => println!("SKIP {program}: not installed"),
            }
            continue;
        }
        let status = repo::command(program).args(checker.args).status();
        if !status.with_context(|| format!("run {program}"))?.success() {
            failed.push(program);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{} reported problems", failed.join(" and "));
}
