//! Measures haft against the least that the system could do. Method and rows: `docs/benchmarks.md`.
//!
//! `cargo xtask bench [NAME]`. The same binary is also every peer and every base that a row needs, so that nothing
//! else has to be built first.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod children;
mod method;
mod model;
mod peers;
mod platform;
mod report;
mod rows;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match *args {
        [peers::MARK, watch::ROLE, said, program, ref args @ ..] => {
            watch::watch(said, program, args).map_err(Into::into)
        }
        [peers::MARK, role] => return peers::run(role),
        [] => rows::run(rows::ROWS),
        [name] if name == rows::PEERS.name => rows::run(&[rows::PEERS]),
        [name] => match rows::ROWS.iter().position(|row| row.name == name) {
            Some(at) => rows::run(rows::ROWS.get(at..=at).unwrap_or_default()),
            None => return usage(),
        },
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: haft-bench [row]\n");
    for row in rows::ROWS.iter().chain([&rows::PEERS]) {
        eprintln!("  {:<10} {}", row.name, row.about);
    }
    ExitCode::from(2)
}
