//! The chores of this repository, from `codegen` to a release. See `CONTRIBUTING.md`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod archive;
mod bench;
mod book;
mod catalog;
mod ci;
mod dist;
mod faults;
mod fuzz;
mod libraries;
mod package;
mod screens;
mod tidy;

use std::process::ExitCode;

use xtask::repo;

const USAGE: &str = "usage: cargo xtask <command>

  codegen [--check]   write docs/schema/* and the generated parts of docs/protocol.md
  coverage [--check]  write docs/coverage.md from what the tests of the program used; run them first:
                      cargo nextest run -p haft --test it e2e
  public-api [--check]
                      write docs/api/CRATE.txt, the public items of the five libraries
  tidy                check what the compiler cannot: edges, lengths, forgotten tests, language
  language [MEASURE | --write]
                      count the offenses against the rules of language, list those against one of
                      them, or write the counts to xtask/language.txt
  ci [--full] [STEP…]
                      every check that a change has to pass, or some of them and what they need;
                      --full tries more cases
  faults [--list] [--full] [--undefended] [ROW…]
                      the fault matrix: all rows, a group (P) or some (P-01); --full takes longer,
                      --undefended builds with switchable defenses, in target/undefended, and
                      expects each row to fail while its defense is down
  faults --goals [--full] [GOAL…]
                      figures beside their targets; --full in release mode and with the latencies
  fuzz [TARGET] [--full | --runs N | --seconds S]
                      replay the corpora of fuzz/, then try N new inputs a target (200000)
  fuzz --lint         clippy over the fuzz targets
  libraries           compile the libraries with each selection of their features
  libraries --build   build and run the first program of docs/first-embedding.md from nothing, and
                      print the time
  book                build docs/ as a book in target/book, and check its spelling and style; needs
                      mdbook and typos, and uses vale if it is installed
  package             package the published crates, compile each package alone, and upload nothing
  dist                compare the release workflow and the plan of its archives with dist-workspace.toml;
                      needs dist
  targets             compile haft for each installed target of a release
  archive             make the archive of a release for this Linux machine, and play the demo from it
                      in an empty root
  archive --pages     write the man page and the completions to target/pages
  catalog API_JSON    renew the list of known models from models.dev's api.json
  deny                check licenses and advisories; needs cargo-deny
  semver              compare the libraries with the last release; needs cargo-semver-checks
  bench [ROW…] [--quick]
                      measure in release mode, all rows or these: tables, and pages in target/bench;
                      --list says which rows there are, --quick takes less often
  bench counts [--write]
                      fail if a hot path needs more instructions than the baseline, which --write renews;
                      needs valgrind
  bench gate [--against REV] [--quick]
                      measure what is steady on a busy machine beside REV (the last release, or the merge
                      base with main); fail if this revision is slower
  bench gate --report [--quick]
                      print the same lines of this revision only
  screens             the pictures of docs/screens; needs chromium";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match *args {
        ["codegen", ref args @ ..] => codegen(args),
        ["coverage", ref args @ ..] => codegen(&[&["coverage"], args].concat()),
        ["public-api", ref args @ ..] => codegen(&[&["public-api"], args].concat()),
        ["tidy"] => tidy::run(),
        ["language", ref args @ ..] => tidy::language(args).map(|text| print!("{text}")),
        ["ci", "--full", ref steps @ ..] => ci::run(ci::CheckDepth::Full, steps),
        ["ci", ref steps @ ..] => ci::run(ci::CheckDepth::Usual, steps),
        ["book"] => book::run(),
        ["catalog", api] => catalog::renew(api.as_ref()),
        ["libraries"] => libraries::check_features(),
        ["libraries", "--build"] => libraries::build_first_program(),
        ["archive"] => archive::run(),
        ["archive", "--pages"] => archive::run_pages(),
        ["dist"] => dist::run(),
        ["targets"] => dist::check_targets(),
        ["package"] => package::run(),
        ["deny"] => ci::run_deny(),
        ["semver"] => ci::run_semver(),
        ["faults", ref rows @ ..] => faults::run(rows),
        ["fuzz", "--lint"] => fuzz::run_clippy(),
        ["fuzz", ref args @ ..] => fuzz::FuzzPlan::parse(args).and_then(fuzz::run),
        ["bench", ref args @ ..] => bench::run(args),
        ["screens"] => screens::run(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the program that writes generated files, which is a package of its own.
fn codegen(args: &[&str]) -> anyhow::Result<()> {
    ci::cargo_run(&[&["run", "--quiet", "--package", "haft-codegen", "--"], args].concat())
}
