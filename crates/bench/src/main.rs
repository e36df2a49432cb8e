//! Measures haft against the least that the system could do. Method and rows: `docs/benchmarks.md`.
//!
//! `cargo xtask bench [NAME]`. The same binary is also every peer and every base that a row needs, so that nothing
//! else has to be built first.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod asking;
mod calling;
mod children;
mod counts;
mod facts;
mod gate;
mod method;
mod model;
mod options;
mod page;
mod peers;
mod platform;
mod report;
mod rows;
mod watch;

use std::process::ExitCode;

use options::BenchCommand;

const USAGE: &str = "usage: haft-bench [row…] [--quick]      measure all rows, or these
       haft-bench gate --report [--quick]            print the gated lines, judge nothing
       haft-bench gate --json ROW [--quick]          print those of a row as JSON
       haft-bench gate --against PROGRAM [--quick]   exit with 1 if a line is slower than
                                      that of another build of this program
       haft-bench counts [--write]    exit with 1 if a hot path needs more instructions
                                      than the baseline; --write renews it
       haft-bench peers [--quick]     measure haft beside the agents on the PATH
       haft-bench --list              the rows
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match *args {
        [peers::MARK, watch::ROLE, said, program, ref args @ ..] => {
            return exit_code(watch::watch_program(said, program, args).map_err(Into::into));
        }
        [peers::MARK, counts::ROLE, path, times] => return exit_code(counts::run_path(path, times)),
        [peers::MARK, role] => return peers::run(role),
        _ => {}
    }
    let Some(command) = options::parse(&args) else {
        eprint!("{USAGE}\n{}", rows::list());
        return ExitCode::from(2);
    };
    let outcome = match command {
        BenchCommand::Measure(rows, effort) => rows::run(&rows, effort).map(|()| true),
        BenchCommand::Gate(mode, effort) => gate::run(&mode, effort),
        BenchCommand::Counts { write } => counts::run(write),
        BenchCommand::List => {
            print!("{}", rows::list());
            Ok(true)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the exit code of a role.
fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    outcome.map_or_else(
        |error| {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}
