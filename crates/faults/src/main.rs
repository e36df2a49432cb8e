//! The fault matrix: `cargo xtask faults [--list] [--full] [--undefended] [--report FILE] [ROW…]`.
//!
//! A row is one thing that extensions do wrong, and what must hold all the same: what the row itself says, and what
//! the oracle says after every row (see `oracle.rs`). Every row runs in a process of its own, which is this program
//! again, several at a time.
//!
//! # Adding a row
//!
//! 1. **Fault.** Bytes at some moment need no program: `inject(InjectionMoment::Tool, || b"…".to_vec())` (`evil.rs`). Anything
//!    else is one line in the table of its group in `crates/test-support/src/bin/misbehave/`, and here
//!    `Misbehavior::Fault("its-name")`. The marker, by which the oracle knows that the fault happened, writes itself.
//! 2. **Row.** One `FaultRow` in the table of its group in `rows/`; a new group is also one line in `rows.rs`. A row has
//!    one or more cases; each case has a world of its own. Without a `play` a case waits until all faults in
//!    `expect` are reported, or, when it expects none, until the fault has happened.
//! 3. **Expectation.** `expect` is every `extension_error` of the case, as extension and code, and no other. `play`
//!    asks things with the methods of `World` and fails with an error for people. `setup` changes the configuration
//!    before the host starts; deadlines that shall pass are at least 500 ms, all others are long already.
//!
//!    No row depends on how busy, how large or which the machine is. Time: wait for an event (`until`, `trips`, a mark, a
//!    fault) with the patience of the world; a fault that has to come after something waits until it is `release`d; "at
//!    once" is judged by deadlines that are several times longer than what is allowed. Memory: `oracle::HeapGrowth` compares
//!    rounds of the same work with the first one. Chance: repeat until it has happened. Each sleep says why it is
//!    there.
//! 4. **Undefended.** `undefend` takes down what the row is about: it changes the configuration (a limit raised, a
//!    defence that can be configured away), or calls `take_down(Defence::X)`. Then `cargo xtask faults --undefended
//!    ROW` must print `noticed`, and beside it the right reason. That command builds these programs once more, with
//!    the compiler flag `--cfg haft_undefended` and in `target/undefended`: in any other build all defences are fixed,
//!    and the matrix runs against the programs that users get.
//!
//! Helpers of a case: `World::{gate, call, call_tool, command, prompt}` ask; `blocks`, `allows`, `answers`, `fails`,
//! `reports`, `goes_on` ask and check in one word; `until`, `until_fault`, `until_expected`, `marks`, `log_of`, `state`
//! look. A case whose own code is the fault (a signal, a reload, a whole `haft`) uses `Misbehavior::Nobody`, adds what it
//! needs in `setup`, starts programs that lie beside this one (`world::beside("haft")`), and calls `World::mark` when
//! the fault happens.
//!
//! A row that needs what this machine lacks returns `skip("what")`, which is shown and does not fail the run. Amounts
//! that take long are read from `World::amount(reduced, full)`.
//!
//! A failed row leaves its home below `target/faults/ROW/`: frames, events, logs of the extensions, its own output.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod alone;
mod attacks;
mod canary;
mod control;
mod crash;
mod defence;
mod evil;
mod goals;
mod installer;
mod oracle;
mod report;
mod row;
mod rows;
mod runner;
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

  --list         print the rows and what they are about
  --full         full counts instead of reduced ones
  --undefended   take each row's defence down; the row must notice
                 (in a build with --cfg haft_undefended: see cargo xtask faults)
  --report FILE  write one line of JSON for each row or goal";

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    // What is installed may look like an option.
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
        eprintln!("{unknown} is not an option of haft-faults\n\n{USAGE}");
        return ExitCode::from(2);
    }
    if flags.contains(&"--undefended") && !defence::CAN_TAKE_DOWN {
        eprintln!(
            "error: no defence can be taken down in this build; run `cargo xtask faults --undefended`, which builds \
             with `--cfg haft_undefended`"
        );
        return ExitCode::from(2);
    }
    let mode = RunMode { full: flags.contains(&"--full"), undefended: flags.contains(&"--undefended") };
    match *words {
        [runner::ROW, id, part, tag, dir, control] => {
            return alone::run((id, part), mode, tag, PathBuf::from(dir), PathBuf::from(control));
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

/// Takes the option `--report` and its file out of the arguments.
fn take_report(args: &mut Vec<String>) -> Result<Option<PathBuf>, &'static str> {
    let Some(at) = args.iter().position(|arg| arg == "--report") else { return Ok(None) };
    args.remove(at);
    if at < args.len() { Ok(Some(PathBuf::from(args.remove(at)))) } else { Err("--report needs a file") }
}

/// Prints what was found.
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
