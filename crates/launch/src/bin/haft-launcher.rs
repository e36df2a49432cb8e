//! The launcher as a separate program, for embedders that do not offer a launcher from their own binary: `haft-launcher
//! --host PID -- PROGRAM ARGS…`.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_launch::launcher_main(std::env::args_os().skip(1))
}
