//! A launcher as a separate program, for embedders whose own program has no such role: `launcher --host PID -- PROGRAM
//! ARGS…`.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_launch::launcher_main(std::env::args_os().skip(1))
}
