//! The fault matrix: `cargo xtask faults [--list] [--full] [--undefended] [--report FILE] [ROW…]`.
//!
//! A row describes one misbehavior of extensions and the required behavior of haft: the checks of the row itself, and
//! those of the oracle after every row (see `oracle.rs`). Every row runs in a separate process of this program, several
//! at a time.
//!
//! # Adding a row
//!
//! 1. **Fault.** Injecting bytes at a moment needs no program: `inject(InjectionMoment::Tool, || b"…".to_vec())`
//!    (`evil.rs`). Any other fault is one line in the table of its group in `crates/test-support/src/bin/misbehave/`,
//!    and here `Misbehavior::Fault("its-name")`. The extension writes a marker, by which the oracle knows that the
//!    fault happened.
//! 2. **Row.** One `FaultRow` in the table of its group in `rows/`; a new group is also one line in `rows.rs`. A row
//!    has one or more cases; each case has a separate world. Without a `play` a case waits until all faults in `expect`
//!    are reported. If `expect` is empty, the case waits until the fault has happened.
//! 3. **Expectation.** `expect` lists every `extension_error` of the case, as extension and code, and no others. `play`
//!    acts with the methods of `World` and returns an error for people. `setup` changes the configuration before the
//!    host starts. Deadlines that must pass are at least 500 ms; all others are long.
//!
//!    No row may depend on the load, the size or the kind of the machine:
//!
//!    - Time: wait for an event (`wait_until`, `wait_for_trips`, a mark, a fault) with the patience of the world. A fault
//!      that must come after something waits until it is released (`release`). "At once" means: earlier than deadlines
//!      that are several times longer than the allowed time.
//!    - Memory: `oracle::HeapGrowth` compares rounds of the same work with the first round.
//!    - Chance: repeat until it has happened.
//!    - Each sleep has a comment with its reason.
//!
//! 4. **Undefended.** `undefend` removes the defense that the row tests: it changes the configuration (raises a limit,
//!    disables a configurable defense), or calls `take_down(Defense::X)`. Then `cargo xtask faults --undefended ROW`
//!    must print `noticed` and the right reason. That command builds these programs again in `target/undefended`, with
//!    the compiler flag `--cfg haft_undefended`. In any other build all defenses are fixed, and the matrix runs with
//!    the programs that users get.
//!
//! Helpers of a case: `World::{call_gated_tool, call, call_tool, command, prompt}` ask. `expect_block`, `expect_allow`,
//! `expect_answer`, `expect_failure`, `expect_report` and `expect_working` ask and check. `wait_until`,
//! `wait_for_fault`, `wait_for_expected`, `marks`, `log_of` and `state` inspect. A case whose own code is the fault (a
//! signal, a reload, a whole `haft`) uses `Misbehavior::NoExtension`. It adds what it needs in `setup`, starts programs
//! that are next to this one (`world::sibling_binary("haft")`), and calls `World::mark` when the fault happens.
//!
//! A row that this machine cannot run returns `skip("what is missing")`, which is reported and does not fail the run.
//! Large amounts are read from `World::amount(reduced, full)`.
//!
//! A failed row keeps its home directory below `target/faults/ROW/`: frames, events, logs of the extensions, its own
//! output.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod attacks;
mod canary;
mod control;
mod crash;
mod defense;
mod goals;
mod installer;
mod misbehavior;
mod oracle;
mod random;
mod report;
mod row;
mod rows;
mod runner;
mod single_row;
mod skip;
mod strace;
mod timeouts;
mod world;
mod writer;

use std::path::PathBuf;
use std::process::ExitCode;

use runner::RunPlan;
use world::RunMode;

const USAGE: &str = "usage: haft-faults [--list] [--full] [--undefended] [--report FILE] [ROW…]
       haft-faults goal [--full] [--report FILE] [GOAL…]

  --list         list the rows
  --full         use full counts instead of reduced ones
  --undefended   run each row without its defense; the row must fail
                 (in a build with --cfg haft_undefended: see cargo xtask faults)
  --report FILE  write one line of JSON for each row or goal";

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    // An installation source may look like an option.
    if let [installer::INSTALLER, home, source] = args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return installer::run(home.as_ref(), source);
    }
    let report = match take_report(&mut args) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let (flags, words): (Vec<&str>, Vec<&str>) =
        args.iter().map(String::as_str).partition(|arg| arg.starts_with("--"));
    if let Some(unknown) = flags.iter().find(|flag| !["--list", "--full", "--undefended"].contains(flag)) {
        eprintln!("unknown option {unknown}\n\n{USAGE}");
        return ExitCode::from(2);
    }
    if flags.contains(&"--undefended") && !defense::CAN_TAKE_DOWN {
        eprintln!(
            "error: this build cannot switch off defenses; run `cargo xtask faults --undefended`, which builds \
             with `--cfg haft_undefended`"
        );
        return ExitCode::from(2);
    }
    let mode = RunMode { full: flags.contains(&"--full"), undefended: flags.contains(&"--undefended") };
    match *words {
        [runner::ROW, id, part, tag, dir, control] => {
            return single_row::run((id, part), mode, tag, PathBuf::from(dir), PathBuf::from(control));
        }
        [crash::CRASH, change, dir] => return crash::run(change, dir.as_ref()),
        [goals::GOAL, ref ids @ ..] => return goals::run(mode, ids, report.as_deref()),
        [goals::HOST, tag, dir, guarded] => {
            return goals::play_host(mode, tag, PathBuf::from(dir), guarded == "guarded");
        }
        #[cfg(target_os = "linux")]
        [goals::PROBE, at, dir] => return print_found(goals::run_probes(at, dir.as_ref())),
        [writer::WRITER, place, size] => return writer::run(&PathBuf::from(place), size),
        [rows::RACER, one, other] => return rows::run_racer(&PathBuf::from(one), &PathBuf::from(other)),
        [rows::ASKER, name, dir] => return rows::run_asker(name, &PathBuf::from(dir)),
        [rows::WRITER, dir] => return rows::write_once(&PathBuf::from(dir)),
        [runner::CONTROL, file] => return control::run(&PathBuf::from(file)),
        _ if flags.contains(&"--list") => {
            rows::all().for_each(|row| println!("{:<6} {}", row.id, row.title));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    match RunPlan::new(mode, &words).and_then(|plan| plan.run(report.as_deref())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Removes the option `--report` with its file from the arguments and returns the file.
fn take_report(args: &mut Vec<String>) -> Result<Option<PathBuf>, &'static str> {
    let Some(at) = args.iter().position(|arg| arg == "--report") else { return Ok(None) };
    args.remove(at);
    if at < args.len() { Ok(Some(PathBuf::from(args.remove(at)))) } else { Err("--report needs a file") }
}

/// Prints the output of the probes.
#[cfg(target_os = "linux")]
fn print_found(found: anyhow::Result<String>) -> ExitCode {
    match found {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
