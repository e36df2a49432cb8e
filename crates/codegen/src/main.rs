//! Writes generated files.
//!
//! * `cargo xtask codegen [--check]`: the files that are generated from types;
//! * `cargo xtask coverage [--check]`: the page that is generated from what the tests used;
//! * `cargo xtask public-api [--check]`: the lists of the libraries' public items.
//!
//! This is a separate package so that the other commands of `cargo xtask` build in seconds: it needs the protocol,
//! the configuration and the terminal interface.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod coverage;
mod outputs;
mod public_api;

use std::process::ExitCode;

use outputs::RunMode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => outputs::run(RunMode::Write),
        ["--check"] => outputs::run(RunMode::Check),
        ["coverage"] => coverage::run(RunMode::Write),
        ["coverage", "--check"] => coverage::run(RunMode::Check),
        ["public-api"] => public_api::run(RunMode::Write),
        ["public-api", "--check"] => public_api::run(RunMode::Check),
        _ => {
            eprintln!("usage: haft-codegen [coverage | public-api] [--check]");
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
