//! Measures haft against the minimum that the operating system needs. `docs/benchmarks.md` describes the method and the
//! rows.
//!
//! Run it with `cargo xtask bench [NAME]`. The same binary also plays every peer and every base that a row needs, so
//! that no other program must be built.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod children;
mod counts;
mod extension_query;
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
mod tool_calls;
mod watch;

use std::process::ExitCode;

use options::BenchCommand;

const USAGE: &str = "usage: haft-bench [ROW…] [--quick]               measure these rows, or all
       haft-bench gate --report [--quick]            print the gated lines
       haft-bench gate --json ROW [--quick]          print a row's gated lines as JSON
       haft-bench gate --against PROGRAM [--quick]   compare the gated lines with another
                                      build; exit with 1 if a line is slower
       haft-bench counts [--write]    compare instruction counts with the baseline; exit
                                      with 1 if a path needs more; --write renews it
       haft-bench peers [--quick]     compare haft with other agents on the PATH
       haft-bench --list              list the rows
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
